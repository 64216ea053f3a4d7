/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of recordings that run. Part of store/store.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "store/files.h"
#include "store/names.h"
#include "store/store.h"
#include "store/store_state.h"

struct range_list {
	VEC(struct part_range) all;
};

/* By begin; of those that begin alike the longest first. */
static int by_begin(const void *a, const void *b)
{
	const struct part_range *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->last > y->last ? -1 : x->last < y->last;
}

/*
 * Lists the parts, oldest first. A file whose range lies in that of another one was joined into it:
 * it is left out, and removed if `cleans`.
 */
static void list_parts(int dir, bool cleans, struct range_list *out)
{
	struct name_list names = { 0 };
	char file[FILE_NAME_BYTES];
	struct part_range range;
	size_t kept = 0;

	dir_names(dir, &names);
	vec_each(name, &names.all)
		if (part_file_parse(*name, &range))
			vec_push(&out->all, range);
	name_list_fini(&names);
	if (out->all.nr)
		qsort(out->all.at, out->all.nr, sizeof(range), by_begin);
	for (size_t i = 0; i < out->all.nr; i++) {
		range = out->all.at[i];
		if (!kept || range.last > out->all.at[kept - 1].last) {
			out->all.at[kept++] = range;
			continue;
		}
		part_file_name(range, file);
		if (cleans)
			unlinkat(dir, file, 0);
	}
	out->all.nr = kept;
}

static void id_name(u64 id, char name[24])
{
	snprintf(name, 24, "%llu", (unsigned long long)id);
}

static bool parse_id(const char *name, u64 *id)
{
	char again[24];

	*id = strtoull(name, NULL, 10);
	id_name(*id, again);
	return *id && !strcmp(name, again);
}

/* The directory of a recording; -ENOENT if it has no parts. */
static int parts_dir(struct store *s, u64 id)
{
	char name[24];

	id_name(id, name);
	int fd = openat(s->parts, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int store_add_part(struct store *s, u64 id, const void *bytes, size_t nr)
{
	struct range_list parts = { 0 };
	char name[FILE_NAME_BYTES];

	id_name(id, name);
	auto_close int dir = dir_open(s->parts, name);
	if (dir < 0)
		return dir;
	list_parts(dir, false, &parts);
	u64 next = parts.all.nr ? parts.all.at[parts.all.nr - 1].last + 1 : 0;
	vec_fini(&parts.all);
	part_file_name((struct part_range){ next, next }, name);
	return file_put(dir, name, bytes, nr, false);
}

int store_open_part(struct store *s, u64 id, u32 n)
{
	struct range_list parts = { 0 };
	char name[FILE_NAME_BYTES];
	auto_close int dir = parts_dir(s, id);

	if (dir < 0)
		return dir;
	list_parts(dir, false, &parts);
	int fd = -ENOENT;
	if (n < parts.all.nr) {
		part_file_name(parts.all.at[n], name);
		fd = file_get(dir, name);
	}
	vec_fini(&parts.all);
	return fd;
}

int store_join_parts(struct store *s, u64 id, u32 first, u32 nr, const void *bytes, size_t len)
{
	struct range_list parts = { 0 };
	char name[FILE_NAME_BYTES];
	auto_close int dir = parts_dir(s, id);
	int err = -EINVAL;

	if (dir < 0)
		return dir;
	list_parts(dir, false, &parts);
	if (nr && (u64)first + nr <= parts.all.nr) {
		struct part_range joined = { parts.all.at[first].first,
					     parts.all.at[first + nr - 1].last };
		part_file_name(joined, name);
		err = file_put(dir, name, bytes, len, true);
	}
	parts.all.nr = 0;
	if (!err)
		list_parts(dir, true, &parts);
	vec_fini(&parts.all);
	return err;
}

void store_drop_parts(struct store *s, u64 id)
{
	struct name_list names = { 0 };
	auto_close int dir = parts_dir(s, id);
	char name[24];

	if (dir < 0)
		return;
	dir_names(dir, &names);
	vec_each(file, &names.all)
		unlinkat(dir, *file, 0);
	name_list_fini(&names);
	id_name(id, name);
	unlinkat(s->parts, name, AT_REMOVEDIR);
}

struct id_list {
	VEC(u64) all;
};

static int by_number(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The recordings with a directory of parts, ascending. */
static void list_ids(struct store *s, struct id_list *out)
{
	struct name_list names = { 0 };
	u64 id;

	dir_names(s->parts, &names);
	vec_each(name, &names.all)
		if (parse_id(*name, &id))
			vec_push(&out->all, id);
	name_list_fini(&names);
	if (out->all.nr)
		qsort(out->all.at, out->all.nr, sizeof(u64), by_number);
}

static bool is_listed(struct store *s, u64 id)
{
	return index_number(s->db, "SELECT COUNT(*) FROM profiles WHERE id = ? AND " NOT_GONE, "i",
			    id) > 0;
}

size_t store_orphans(struct store *s, u64 *ids, size_t max)
{
	struct id_list all = { 0 };
	size_t nr = 0;

	list_ids(s, &all);
	vec_each(id, &all.all)
		if (nr < max && !is_listed(s, *id))
			ids[nr++] = *id;
	vec_fini(&all.all);
	return nr;
}

void parts_clean(struct store *s)
{
	struct id_list ids = { 0 };

	list_ids(s, &ids);
	vec_each(id, &ids.all) {
		struct range_list parts = { 0 };
		auto_close int dir = parts_dir(s, *id);
		if (dir < 0)
			continue;
		dir_remove_temporary(dir);
		list_parts(dir, true, &parts);
		if (!parts.all.nr || is_listed(s, *id))
			store_drop_parts(s, *id);
		vec_fini(&parts.all);
	}
	vec_fini(&ids.all);
}

u64 parts_last_id(struct store *s)
{
	struct id_list ids = { 0 };

	list_ids(s, &ids);
	u64 last = ids.all.nr ? ids.all.at[ids.all.nr - 1] : 0;
	vec_fini(&ids.all);
	return last;
}
