/* SPDX-License-Identifier: Apache-2.0 */
/* Prints readings of `sysflame top` to standard output. */
#pragma once

#include "top/view.h"
#include "top/watch.h"

/* As text; of each JVM with samples at most `nr_methods` methods. */
void top_print_text(const struct watch *w, const struct board *b, const struct view_choice *c,
		    size_t nr_methods, size_t width);

/* As one line of JSON (docs/operations.md). */
void top_print_json(const struct watch *w, const struct board *b, const struct view_choice *c,
		    size_t nr_methods);
