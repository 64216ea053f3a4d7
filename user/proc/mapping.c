/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and keeps the mappings of a process. */
#include "proc/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/vec.h"

/* A path has at most 4095 bytes. The kernel may write each newline as four bytes. */
#define LINE_MAX_BYTES 20000

/* Shared by all mappings without a path, because a process may have very many of them. */
static char no_path[1];

static void free_path(struct mapping *m)
{
	if (m->path != no_path)
		free(m->path);
}

/* Undoes the one escape of the kernel's show_map_vma (fs/proc/task_mmu.c): "\012" for a newline. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from; from++) {
		if (!strncmp(from, "\\012", 4)) {
			*to++ = '\n';
			from += 3;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

static char *path_of(const char *text, const char *end, bool *deleted)
{
	static const char suffix[] = " (deleted)";
	size_t suffix_len = sizeof(suffix) - 1;

	while (text < end && *text == ' ')
		text++;
	*deleted = (size_t)(end - text) > suffix_len && *text == '/' &&
		   !memcmp(end - suffix_len, suffix, suffix_len);
	if (*deleted)
		end -= suffix_len;
	if (text == end)
		return no_path;

	char *path = xstrndup(text, (size_t)(end - text));
	unescape(path);
	return path;
}

/* Reads a number that is followed by `after`, and moves past both. */
static bool number(const char **at, const char *end, unsigned base, char after, u64 *out)
{
	u64 value = 0;
	const char *p = *at;

	for (; p < end && *p != after; p++) {
		unsigned digit = *p >= '0' && *p <= '9'   ? (unsigned)(*p - '0')
				 : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a' + 10)
							  : base;
		if (digit >= base)
			return false;
		value = value * base + digit;
	}
	if (p == *at || (p == end && after != ' '))
		return false;
	*at = p < end ? p + 1 : p;
	*out = value;
	return true;
}

/*
 * Parses one line of proc_pid_maps(5) without its newline. Returns false if it is invalid or not
 * wanted.
 */
static bool parse_line(const char *at, const char *end, bool executable_only, struct mapping *out)
{
	struct mapping m = { 0 };
	u64 dev_major, dev_minor;

	if (!number(&at, end, 16, '-', &m.start) || !number(&at, end, 16, ' ', &m.end) ||
	    end - at < 5)
		return false;
	m.readable = at[0] == 'r';
	m.executable = at[2] == 'x';
	if (executable_only && !m.executable)
		return false;
	at += 5;
	if (!number(&at, end, 16, ' ', &m.file_off) || !number(&at, end, 16, ':', &dev_major) ||
	    !number(&at, end, 16, ' ', &dev_minor) || !number(&at, end, 10, ' ', &m.inode) ||
	    m.start >= m.end)
		return false;
	m.dev_major = (u32)dev_major;
	m.dev_minor = (u32)dev_minor;
	m.path = path_of(at, end, &m.deleted);
	*out = m;
	return true;
}

/*
 * The kernel builds the list page by page while the process changes it. A mapping that grew
 * downwards meanwhile begins inside one that was already read.
 */
static bool append(struct mappings *all, struct mapping *m)
{
	u64 from = all->nr ? all->at[all->nr - 1].end : 0;

	if (m->end <= from) {
		free_path(m);
		return true;
	}
	if (m->start < from) {
		m->file_off += m->inode ? from - m->start : 0;
		m->start = from;
	}
	if (all->nr == MAPPINGS_MAX) {
		free_path(m);
		return false;
	}
	vec_push(all, *m);
	return true;
}

struct listing {
	struct mappings all;
	bool executable_only;
};

static int take_line(const char *at, const char *end, void *ctx)
{
	struct listing *list = ctx;
	struct mapping m;

	if (parse_line(at, end, list->executable_only, &m) && !append(&list->all, &m))
		return -E2BIG;
	return 0;
}

int mappings_read(pid_t pid, bool executable_only, struct mappings *out)
{
	struct listing list = { .executable_only = executable_only };
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;

	int err = file_each_line(fd, LINE_MAX_BYTES, take_line, &list);
	if (err) {
		mappings_fini(&list.all);
		return err;
	}
	*out = list.all;
	return 0;
}

/* The index of the first mapping that ends after `addr`. */
static size_t first_behind(const struct mappings *all, u64 addr)
{
	size_t lo = 0, hi = all->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (all->at[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct mapping *mappings_find(const struct mappings *all, u64 addr)
{
	size_t i = first_behind(all, addr);

	return i < all->nr && all->at[i].start <= addr ? &all->at[i] : NULL;
}

static struct mapping copy_of(const struct mapping *m)
{
	struct mapping copy = *m;

	copy.path = m->path && *m->path ? xstrdup(m->path) : no_path;
	return copy;
}

void mappings_insert(struct mappings *all, const struct mapping *m)
{
	struct mapping pieces[3];
	size_t nr = 0;

	if (m->start >= m->end)
		return;

	size_t from = first_behind(all, m->start), to = from;
	while (to < all->nr && all->at[to].start < m->end)
		to++;
	if (to > from && all->at[from].start < m->start) {
		pieces[nr] = copy_of(&all->at[from]);
		pieces[nr++].end = m->start;
	}
	pieces[nr++] = copy_of(m);
	if (to > from && all->at[to - 1].end > m->end) {
		struct mapping *right = &pieces[nr++];
		*right = copy_of(&all->at[to - 1]);
		right->file_off += right->inode ? m->end - right->start : 0;
		right->start = m->end;
	}

	for (size_t i = from; i < to; i++)
		free_path(&all->at[i]);
	vec_reserve(all, nr);
	memmove(all->at + from + nr, all->at + to, (all->nr - to) * sizeof(all->at[0]));
	memcpy(all->at + from, pieces, nr * sizeof(pieces[0]));
	all->nr += nr - (to - from);
}

void mappings_copy(const struct mappings *from, struct mappings *out)
{
	struct mappings copy = { 0 };

	vec_reserve(&copy, from->nr);
	for (size_t i = 0; i < from->nr; i++)
		copy.at[copy.nr++] = copy_of(&from->at[i]);
	*out = copy;
}

void mappings_fini(struct mappings *all)
{
	vec_each(m, all)
		free_path(m);
	vec_fini(all);
}
