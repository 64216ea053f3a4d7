/* SPDX-License-Identifier: Apache-2.0 */
/* Names of generated code from /tmp/perf-PID.map. */
#include "sym/perf_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/time.h"
#include "base/vec.h"
#include "proc/status.h"
#include "proc/target_file.h"

#define FILE_MAX_BYTES (64u << 20)
#define NAME_MAX_BYTES 4096

struct map_entry {
	u64 start, end;
	u32 line;
	u32 name; /* offset in `names` */
};

struct perf_map {
	VEC(struct map_entry) entries; /* sorted by start; starts are distinct after parsing */
	VEC(char) names;
};

static int by_start(const void *a, const void *b)
{
	const struct map_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* Parses a hexadecimal number, with or without 0x, and skips the blanks after it. */
static bool parse_hex(const char **at, const char *end, u64 *out)
{
	const char *c = *at;
	u64 value = 0;
	int nr = 0;

	if (end - c > 2 && c[0] == '0' && (c[1] | 0x20) == 'x')
		c += 2;
	for (; c < end && nr < 17; c++, nr++) {
		int digit = *c >= '0' && *c <= '9'                     ? *c - '0'
			    : (*c | 0x20) >= 'a' && (*c | 0x20) <= 'f' ? (*c | 0x20) - 'a' + 10
								       : -1;
		if (digit < 0)
			break;
		value = value << 4 | (u64)digit;
	}
	if (!nr || nr > 16 || c == end || *c != ' ')
		return false;
	while (c < end && *c == ' ')
		c++;
	*at = c;
	*out = value;
	return true;
}

static void parse_line(struct perf_map *map, const char *line, const char *end, u32 number)
{
	u64 start, size;

	if (!parse_hex(&line, end, &start) || !parse_hex(&line, end, &size) || line == end)
		return;
	if (!size || start + size < start || end - line > NAME_MAX_BYTES ||
	    memchr(line, '\0', (size_t)(end - line)))
		return;

	size_t len = (size_t)(end - line);
	vec_push(&map->entries,
		 (struct map_entry){ start, start + size, number, (u32)map->names.nr });
	vec_reserve(&map->names, len + 1);
	memcpy(map->names.at + map->names.nr, line, len);
	map->names.at[map->names.nr + len] = '\0';
	map->names.nr += len + 1;
}

struct perf_map *perf_map_parse(const char *text, size_t len)
{
	struct perf_map *map = xcalloc(1, sizeof(*map));
	const char *end = text + len;
	u32 number = 0;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *line_end = newline ?: end;
		parse_line(map, text, line_end, number++);
		text = newline ? newline + 1 : end;
	}

	size_t nr = 0;
	if (map->entries.nr)
		qsort(map->entries.at, map->entries.nr, sizeof(map->entries.at[0]), by_start);
	for (size_t i = 0; i < map->entries.nr; i++) {
		bool same = nr && map->entries.at[nr - 1].start == map->entries.at[i].start;
		map->entries.at[nr - same] = map->entries.at[i];
		nr += !same;
	}
	map->entries.nr = nr;
	return map;
}

static int open_map(const struct proc_status *status)
{
	struct target_root root;
	char name[32];
	int err = target_root_open(status->pid, &root);

	if (err)
		return err;
	snprintf(name, sizeof(name), "tmp/perf-%d.map", (int)status->nspid);
	int fd = target_file_open_unlinked(&root, name);
	target_root_close(&root);
	return fd == -ELOOP || fd == -ENOEXEC ? -EPERM : fd;
}

bool perf_map_same_source(const struct perf_map_source *a, const struct perf_map_source *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->size == b->size &&
	       a->changed_ns == b->changed_ns && a->user == b->user;
}

int perf_map_open(pid_t pid, struct perf_map_source *out)
{
	struct proc_status status;
	struct stat st;

	int err = proc_status_read(pid, &status);
	if (err)
		return err;
	auto_close int fd = open_map(&status);
	if (fd < 0)
		return fd;
	err = file_status(fd, &st);
	if (err)
		return err;
	if (st.st_uid != status.euid && st.st_uid != 0)
		return -EPERM;
	*out = (struct perf_map_source){
		.dev = st.st_dev,
		.inode = st.st_ino,
		.size = (u64)st.st_size,
		.changed_ns = (u64)st.st_mtim.tv_sec * NS_PER_SEC + (u64)st.st_mtim.tv_nsec,
		.user = status.euid,
	};
	return take_fd(fd);
}

static int parse_file(int fd, struct perf_map **out)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if ((u64)st.st_size > FILE_MAX_BYTES)
		return -EFBIG;
	size_t size = (size_t)st.st_size, len = 0;
	auto_free char *text = xmalloc(size);
	for (ssize_t got = 1; len < size && got > 0; len += (size_t)got) {
		got = read(fd, text + len, size - len);
		if (got < 0)
			return -errno;
	}
	*out = perf_map_parse(text, len);
	return 0;
}

/* A parsed map as a worker's result: this head, the entries, the names. */
struct head {
	u64 nr_entries, nr_names;
};

int perf_map_task(struct worker_io *io, const int *fds, const void *params, size_t len)
{
	struct perf_map *map = NULL;
	int err = parse_file(fds[0], &map);

	if (err)
		return err;
	const struct head head = { map->entries.nr, map->names.nr };
	err = worker_put(io, &head, sizeof(head))
		      ?: worker_put(io, map->entries.at, head.nr_entries * sizeof(struct map_entry))
		      ?: worker_put(io, map->names.at, head.nr_names);
	perf_map_free(map);
	return err;
}

static bool is_sound(const struct perf_map *map)
{
	for (size_t i = 0; i < map->entries.nr; i++) {
		const struct map_entry *e = &map->entries.at[i];
		if (e->name >= map->names.nr || e->start >= e->end ||
		    (i && e->start <= map->entries.at[i - 1].start))
			return false;
	}
	return !map->names.nr || !map->names.at[map->names.nr - 1];
}

int perf_map_decode(const void *bytes, size_t nr, struct perf_map **out)
{
	struct head head;

	if (nr < sizeof(head))
		return -EBADMSG;
	memcpy(&head, bytes, sizeof(head));
	nr -= sizeof(head);
	if (head.nr_entries > nr / sizeof(struct map_entry) ||
	    nr - head.nr_entries * sizeof(struct map_entry) != head.nr_names)
		return -EBADMSG;
	struct perf_map *map = xcalloc(1, sizeof(*map));
	const char *at = (const char *)bytes + sizeof(head);
	map->entries.at = xmemdup(at, head.nr_entries * sizeof(struct map_entry));
	map->entries.nr = map->entries.cap = head.nr_entries;
	map->names.at = xmemdup(at + head.nr_entries * sizeof(struct map_entry), head.nr_names);
	map->names.nr = map->names.cap = head.nr_names;
	if (!is_sound(map)) {
		perf_map_free(map);
		return -EBADMSG;
	}
	*out = map;
	return 0;
}

size_t perf_map_bytes(const struct perf_map *map)
{
	return sizeof(*map) + map->entries.nr * sizeof(struct map_entry) + map->names.nr;
}

void perf_map_free(struct perf_map *map)
{
	if (!map)
		return;
	vec_fini(&map->entries);
	vec_fini(&map->names);
	free(map);
}

const char *perf_map_find(const struct perf_map *map, u64 pc)
{
	size_t low = 0, high = map->entries.nr;

	while (low < high) {
		size_t mid = (low + high) / 2;
		if (map->entries.at[mid].start <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || pc >= map->entries.at[low - 1].end)
		return NULL;
	return &map->names.at[map->entries.at[low - 1].name];
}
