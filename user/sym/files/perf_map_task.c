/* SPDX-License-Identifier: Apache-2.0 */
/* Parses perf maps, in a worker. Part of sym/files/perf_map.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "sym/files/perf_map.h"

#define FILE_MAX_BYTES (64u << 20)
#define NAME_MAX_BYTES 4096

static int by_start(const void *a, const void *b)
{
	const struct perf_map_entry *x = a, *y = b;

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
		 (struct perf_map_entry){ start, start + size, number, (u32)map->names.nr });
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

int perf_map_task(struct worker_io *io, const int *fds, const void *params, size_t len)
{
	struct perf_map *map = NULL;
	int err = parse_file(fds[0], &map);

	if (err)
		return err;
	const struct perf_map_head head = { map->entries.nr, map->names.nr };
	err = worker_put(io, &head, sizeof(head))
		      ?: worker_put(io, map->entries.at, head.nr_entries * sizeof(struct perf_map_entry))
		      ?: worker_put(io, map->names.at, head.nr_names);
	perf_map_free(map);
	return err;
}
