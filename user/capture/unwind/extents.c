/* SPDX-License-Identifier: Apache-2.0 */
/* Extents of a table. */
#include "capture/unwind/extents.h"

#include <errno.h>
#include <string.h>

void extents_init(struct extents *e, u32 size)
{
	*e = (struct extents){ .size = size };
	if (size)
		vec_push(&e->free, (struct extent){ .nr = size });
}

void extents_fini(struct extents *e)
{
	vec_fini(&e->free);
}

static int by_place(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	if (!x->freed_ns != !y->freed_ns)
		return x->freed_ns ? 1 : -1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Makes extents usable that have rested long enough, and joins neighbours. */
static void settle(struct extents *e, u64 now_ns)
{
	size_t kept = 0;

	vec_each(x, &e->free)
		if (x->freed_ns && x->freed_ns + EXTENTS_REST_NS <= now_ns)
			x->freed_ns = 0;
	qsort(e->free.at, e->free.nr, sizeof(e->free.at[0]), by_place);
	for (size_t i = 0; i < e->free.nr; i++) {
		struct extent *last = kept ? &e->free.at[kept - 1] : NULL, *x = &e->free.at[i];

		if (last && !last->freed_ns && !x->freed_ns && last->first + last->nr == x->first)
			last->nr += x->nr;
		else
			e->free.at[kept++] = *x;
	}
	e->free.nr = kept;
}

static int take_first_fit(struct extents *e, u32 nr, u32 *first)
{
	vec_each(x, &e->free) {
		if (x->freed_ns)
			break;
		if (x->nr < nr)
			continue;
		*first = x->first;
		x->first += nr;
		x->nr -= nr;
		e->nr_used += nr;
		if (!x->nr)
			memmove(x, x + 1, (char *)(e->free.at + --e->free.nr) - (char *)x);
		return 0;
	}
	return -ENOSPC;
}

int extents_alloc(struct extents *e, u32 nr, u64 now_ns, u32 *first)
{
	if (!nr) {
		*first = 0;
		return 0;
	}
	if (!take_first_fit(e, nr, first))
		return 0;
	settle(e, now_ns);
	return take_first_fit(e, nr, first);
}

void extents_free(struct extents *e, u32 first, u32 nr, u64 now_ns)
{
	if (!nr)
		return;
	e->nr_used -= nr;
	vec_push(&e->free, (struct extent){ first, nr, now_ns ?: 1 });
}
