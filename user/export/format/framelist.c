/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of a profile with their numbers in the format. */
#include "export/format/framelist.h"

#include <stdlib.h>
#include <string.h>

#include "base/dict.h"
#include "base/vec.h"
#include "export/format/varint.h"

void framelist_init(struct framelist *l, const struct frames *frames)
{
	*l = (struct framelist){ .frames = frames, .nr = frames_nr(frames) };
	l->all = xcalloc((size_t)l->nr + 1, sizeof(l->all[0]));
	for (u32 i = 0; i < l->nr; i++)
		l->all[i].kind = frames_get(frames, i)->kind;
}

void framelist_fini(struct framelist *l)
{
	free(l->all);
	free(l->names);
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_bytes_of_name(const void *name, const void *element)
{
	return strcmp(name, *(const char *const *)element);
}

static u32 index_of(const struct framelist *l, const char *name)
{
	const char **at =
		bsearch(name, l->names, l->nr_names, sizeof(l->names[0]), by_bytes_of_name);

	return (u32)(at - l->names);
}

static bool is_java(enum frame_kind kind)
{
	return kind >= FRAME_INTERPRETED && kind <= FRAME_INLINED;
}

static void find_methods(struct framelist *l)
{
	struct dict methods = { 0 }; /* (name << 32 | module) -> first frame of the method + 1 */

	for (u32 i = 0; i < l->nr; i++) {
		struct listed_frame *f = &l->all[i];
		f->method = i;
		if (!f->is_used || !is_java(f->kind))
			continue;
		u64 *first = dict_add(&methods, (u64)f->name << 32 | f->module);
		if (*first) {
			f->method = (u32)*first - 1;
			f->has_tiers = l->all[f->method].has_tiers = true;
		} else {
			*first = i + 1;
		}
	}
	dict_fini(&methods);
}

void framelist_sort_names(struct framelist *l)
{
	size_t nr = 0;

	l->names = xcalloc((size_t)l->nr * 3 + 1, sizeof(l->names[0]));
	for (u32 i = 0; i < l->nr; i++) {
		const struct frame *f = frames_get(l->frames, i);
		if (!l->all[i].is_used)
			continue;
		l->names[nr++] = f->name;
		if (*f->module)
			l->names[nr++] = f->module;
		if (*f->file)
			l->names[nr++] = f->file;
	}
	qsort(l->names, nr, sizeof(l->names[0]), by_bytes);
	for (size_t i = 0; i < nr; i++)
		if (i == 0 || strcmp(l->names[i], l->names[l->nr_names - 1]))
			l->names[l->nr_names++] = l->names[i];

	for (u32 i = 0; i < l->nr; i++) {
		const struct frame *f = frames_get(l->frames, i);
		if (!l->all[i].is_used)
			continue;
		l->all[i].name = index_of(l, f->name);
		l->all[i].module = *f->module ? index_of(l, f->module) + 1 : 0;
		l->all[i].file = *f->file ? index_of(l, f->file) + 1 : 0;
	}
	find_methods(l);
}

int framelist_compare(const struct framelist *l, frame_id a, frame_id b)
{
	const struct listed_frame *x = &l->all[a], *y = &l->all[b];

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->module < y->module ? -1 : x->module > y->module;
}

static int by_use(const void *a, const void *b, void *list)
{
	const struct framelist *l = list;
	frame_id x = *(const frame_id *)a, y = *(const frame_id *)b;

	if (l->all[x].nr_nodes != l->all[y].nr_nodes)
		return l->all[x].nr_nodes > l->all[y].nr_nodes ? -1 : 1;
	return framelist_compare(l, x, y);
}

/* Returns the frames that nodes use, in the order of their ranks. The caller frees the array. */
static frame_id *ranked(const struct framelist *l, u32 *nr)
{
	frame_id *order = xcalloc((size_t)l->nr + 1, sizeof(order[0]));

	*nr = 0;
	for (u32 i = 0; i < l->nr; i++)
		if (l->all[i].nr_nodes)
			order[(*nr)++] = i;
	qsort_r(order, *nr, sizeof(order[0]), by_use, (void *)l);
	return order;
}

void framelist_rank(struct framelist *l)
{
	u32 nr;
	frame_id *order = ranked(l, &nr);

	for (u32 rank = 0; rank < nr; rank++)
		l->all[order[rank]].rank = rank;
	free(order);
}

static void write_names(const struct framelist *l, struct str *names)
{
	const char *last = "";

	varint_add(names, l->nr_names);
	for (u32 i = 0; i < l->nr_names; i++) {
		const char *name = l->names[i];
		size_t shared = 0;
		while (name[shared] && name[shared] == last[shared])
			shared++;
		varint_add(names, shared);
		varint_add(names, strlen(name + shared));
		str_add(names, name + shared);
		last = name;
	}
}

/* Usually either no frame has a line or all Java frames have one. */
static void write_lines(const struct framelist *l, const frame_id *order, u32 nr, struct str *lines)
{
	u32 last = 0;

	for (u32 rank = 0; rank < nr; rank++) {
		u32 line = frames_get(l->frames, order[rank])->line;
		if (!line)
			continue;
		varint_add(lines, rank - last);
		varint_add(lines, line);
		varint_add(lines, l->all[order[rank]].file);
		last = rank;
	}
}

void framelist_write(const struct framelist *l, struct str *names, struct str *frames,
		     struct str *modules, struct str *lines)
{
	u32 nr;
	frame_id *order = ranked(l, &nr);
	bool has_modules = false;

	write_names(l, names);
	varint_add(frames, nr);
	for (u32 rank = 0; rank < nr; rank++)
		varint_add(frames, l->all[order[rank]].name);
	for (u32 rank = 0; rank < nr; rank++) {
		str_add_char(frames, (char)l->all[order[rank]].kind);
		has_modules |= l->all[order[rank]].module != 0;
	}
	for (u32 rank = 0; has_modules && rank < nr; rank++)
		varint_add(modules, l->all[order[rank]].module);
	write_lines(l, order, nr, lines);
	free(order);
}
