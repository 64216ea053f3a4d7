/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two sources agree on the frames of a piece of compiled code. */
#include "sym/agree.h"

#include <string.h>

static bool is_same(const struct java_frame *a, const struct java_frame *b)
{
	return !strcmp(a->method, b->method) && !strcmp(a->class_name, b->class_name);
}

bool frames_agree(const struct java_frame *a, int nr_a, const struct java_frame *b, int nr_b,
		  bool is_leaf)
{
	int nr = nr_a < nr_b ? nr_a : nr_b;

	if (is_leaf && nr > 1)
		nr = 1;
	for (int i = 1; i <= nr; i++) {
		const struct java_frame *x = &a[nr_a - i], *y = &b[nr_b - i];

		if (!is_same(x, y))
			return false;
		if (!is_leaf && x->line && y->line && x->line != y->line)
			return false;
	}
	return true;
}
