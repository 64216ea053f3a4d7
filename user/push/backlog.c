/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait to be sent. */
#include "push/backlog.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "store/files.h"

#define NAME_BYTES 96
#define NEXT       "next"
#define NEXT_BYTES 21 /* 20 digits and a line end */

static void name_of(const struct waiting *r, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "%010llu-%04u-%s", (unsigned long long)r->minute, r->number,
		 r->service);
}

static bool parse_name(const char *name, struct waiting *out)
{
	unsigned long long minute;
	char again[NAME_BYTES];

	if (sscanf(name, "%10llu-%4u-%43s", &minute, &out->number, out->service) != 3)
		return false;
	out->minute = minute;
	name_of(out, again);
	return !strcmp(name, again);
}

static void reduce(char *service)
{
	for (char *c = service; *c; c++)
		if (!isascii(*c) || !(isalnum(*c) || *c == '.'))
			*c = '_';
	if (!*service)
		strcpy(service, "_");
}

static int by_age(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	if (x->minute != y->minute)
		return x->minute < y->minute ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

int backlog_open(int dir, const char *receiver, const struct backlog_limits *limits, u64 next,
		 struct backlog *out)
{
	struct name_list names = { 0 };
	struct backlog s = { .dir = dir_open(dir, receiver), .limits = *limits };

	if (s.dir < 0)
		return s.dir;
	dir_remove_temporary(s.dir);
	dir_names(s.dir, &names);
	vec_each(name, &names.all) {
		struct waiting r = { 0 };
		if (!parse_name(*name, &r))
			continue;
		r.bytes = file_size(s.dir, *name);
		vec_push(&s.waiting, r);
		s.bytes += r.bytes;
	}
	name_list_fini(&names);
	if (s.waiting.nr)
		qsort(s.waiting.at, s.waiting.nr, sizeof(s.waiting.at[0]), by_age);
	backlog_undo(&s, next, false);
	*out = s;
	return 0;
}

void backlog_close(struct backlog *s)
{
	if (s->dir >= 0)
		close(s->dir);
	vec_fini(&s->waiting);
}

static void remove_at(struct backlog *s, size_t i)
{
	char name[NAME_BYTES];

	name_of(&s->waiting.at[i], name);
	unlinkat(s->dir, name, 0);
	s->bytes -= s->waiting.at[i].bytes;
	s->waiting.nr--;
	memmove(&s->waiting.at[i], &s->waiting.at[i + 1],
		(s->waiting.nr - i) * sizeof(s->waiting.at[0]));
}

int backlog_add(struct backlog *s, struct waiting *request, const void *bytes, bool is_sending)
{
	char name[NAME_BYTES];

	if (request->bytes > s->limits.max_bytes)
		return -EFBIG;
	while (s->waiting.nr > is_sending && s->bytes + request->bytes > s->limits.max_bytes) {
		remove_at(s, is_sending);
		s->nr_full++;
	}
	reduce(request->service);
	name_of(request, name);
	int err = file_put(s->dir, name, bytes, request->bytes, true);
	if (err)
		return err;
	vec_push(&s->waiting, *request);
	s->bytes += request->bytes;
	return 0;
}

int backlog_get_first(const struct backlog *s)
{
	char name[NAME_BYTES];

	name_of(&s->waiting.at[0], name);
	return file_get(s->dir, name);
}

void backlog_put_back(struct backlog *s)
{
	if (s->waiting.nr)
		qsort(s->waiting.at, s->waiting.nr, sizeof(s->waiting.at[0]), by_age);
}

static u32 counted_faults(const struct waiting *r)
{
	return r->nr_faults < BACKLOG_FAULTS ? 0 : r->nr_faults;
}

void backlog_choose(struct backlog *s)
{
	size_t best = 0;

	for (size_t i = 1; i < s->waiting.nr; i++)
		if (counted_faults(&s->waiting.at[i]) < counted_faults(&s->waiting.at[best]))
			best = i;
	if (!best)
		return;
	struct waiting chosen = s->waiting.at[best];
	memmove(&s->waiting.at[1], &s->waiting.at[0], best * sizeof(chosen));
	s->waiting.at[0] = chosen;
}

void backlog_remove_first(struct backlog *s)
{
	remove_at(s, 0);
}

void backlog_expire(struct backlog *s, u64 minute, bool is_sending)
{
	while (s->waiting.nr > is_sending &&
	       s->waiting.at[is_sending].minute + s->limits.max_minutes < minute) {
		remove_at(s, is_sending);
		s->nr_old++;
	}
}

u64 backlog_undo(struct backlog *s, u64 minute, bool is_sending)
{
	u64 nr = 0;

	for (; s->waiting.nr > is_sending && s->waiting.at[s->waiting.nr - 1].minute >= minute;
	     nr++)
		remove_at(s, s->waiting.nr - 1);
	return nr;
}

static u64 remove_folder(int dir, const char *name)
{
	struct name_list names = { 0 };
	auto_close int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	u64 nr = 0;

	if (fd < 0)
		return 0;
	dir_names(fd, &names);
	vec_each(file, &names.all)
		nr += !unlinkat(fd, *file, 0);
	name_list_fini(&names);
	unlinkat(dir, name, AT_REMOVEDIR);
	return nr;
}

u64 backlog_remove_others(int dir, const char (*receivers)[40], u32 nr)
{
	struct name_list names = { 0 };
	u64 nr_removed = 0;

	dir_names(dir, &names);
	vec_each(name, &names.all) {
		bool is_known = !strcmp(*name, NEXT);
		for (u32 i = 0; i < nr; i++)
			is_known |= !strcmp(*name, receivers[i]);
		if (!is_known)
			nr_removed += remove_folder(dir, *name);
	}
	name_list_fini(&names);
	return nr_removed;
}

u64 backlog_read_next(int dir)
{
	char text[NEXT_BYTES + 1] = "";
	auto_close int fd = file_get(dir, NEXT);
	unsigned long long minute = 0;

	if (fd < 0 || pread(fd, text, NEXT_BYTES, 0) != NEXT_BYTES ||
	    sscanf(text, "%20llu", &minute) != 1)
		return 0;
	return minute;
}

int backlog_write_next(int dir, u64 minute)
{
	char text[NEXT_BYTES + 1];
	auto_close int fd = openat(dir, NEXT, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	snprintf(text, sizeof(text), "%020llu\n", (unsigned long long)minute);
	ssize_t done = pwrite(fd, text, NEXT_BYTES, 0);
	if (done != NEXT_BYTES)
		return done < 0 ? -errno : -ENOSPC;
	return fdatasync(fd) ? -errno : 0;
}
