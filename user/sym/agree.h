/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two sources agree on the frames of a piece of compiled code. */
#pragma once

#include "jvm/memory/java_frame.h"

/*
 * Compares frames, leaf first, from the compiled method (the last) inwards, as far as both go:
 * names, and lines where both have one. For a leaf only the compiled method's name is compared.
 * Each source takes the inlined frames there from a nearby place with debug information, perhaps
 * from different ones.
 */
bool frames_agree(const struct java_frame *a, int nr_a, const struct java_frame *b, int nr_b,
		  bool is_leaf);
