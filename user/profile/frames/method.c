/* SPDX-License-Identifier: Apache-2.0 */
/* A method: a frame without its tier. */
#include "profile/frames/method.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

bool frame_kind_is_java(enum frame_kind kind)
{
	return kind >= FRAME_INTERPRETED && kind <= FRAME_INLINED;
}

int frames_by_method(const void *a, const void *b, void *frames)
{
	const struct frame *x = frames_get(frames, *(const frame_id *)a);
	const struct frame *y = frames_get(frames, *(const frame_id *)b);
	int order = strcmp(x->name, y->name) ?: strcmp(x->module, y->module);

	if (order || (frame_kind_is_java(x->kind) && frame_kind_is_java(y->kind)))
		return order;
	return (int)x->kind - (int)y->kind;
}

frame_id *frames_methods(const struct frames *all)
{
	u32 nr = frames_nr(all);
	frame_id *order = xcalloc(nr + 1, sizeof(order[0]));
	frame_id *method_of = xcalloc(nr + 1, sizeof(method_of[0]));

	for (u32 i = 0; i < nr; i++)
		order[i] = i;
	qsort_r(order, nr, sizeof(order[0]), frames_by_method, (void *)all);
	for (u32 i = 0; i < nr; i++) {
		bool is_same = i && !frames_by_method(&order[i - 1], &order[i], (void *)all);
		method_of[order[i]] = is_same ? method_of[order[i - 1]] : order[i];
	}
	free(order);
	return method_of;
}
