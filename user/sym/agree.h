/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two sources tell the same of a piece of compiled code. */
#pragma once

#include "jvm/java_frame.h"

/*
 * Compares frames, leaf first, from the method that was compiled (the last) inwards, as far as both
 * go: names, and lines where both have one. At a leaf only the former: each takes what is inlined
 * there from a place nearby with debug information, and they need not choose the same.
 */
bool frames_agree(const struct java_frame *a, int nr_a, const struct java_frame *b, int nr_b,
		  bool is_leaf);
