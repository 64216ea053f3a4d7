/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and keeps the mappings of a process. */
#include "proc/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/file.h"
#include "base/time.h"
#include "base/vec.h"
#include "proc/blocking.h"
#include "proc/status.h"

struct stored {
	struct stored *next; /* another path with the same hash */
	u64 hash;
	u32 nr_users, len;
	char text[];
};

/* A cache for the whole program: the paths in use, by hash. Empty when the last one is freed. */
static struct dict stored_paths;

static const char no_path[1]; /* of anonymous memory; never stored */

static struct stored *stored_of(const char *path)
{
	return (void *)(path - offsetof(struct stored, text));
}

const char *path_share(const char *path)
{
	if (*path)
		stored_of(path)->nr_users++;
	return path;
}

const char *path_new(const char *text, size_t len)
{
	if (!len)
		return no_path;

	u64 hash = hash_keyed(text, len), *first = dict_add(&stored_paths, hash);
	for (struct stored *s = (void *)*first; s; s = s->next)
		if (s->len == len && !memcmp(s->text, text, len))
			return path_share(s->text);

	struct stored *new = xmalloc(sizeof(*new) + len + 1);
	*new = (struct stored){ (void *)*first, hash, 1, (u32)len };
	memcpy(new->text, text, len);
	new->text[len] = '\0';
	*first = (u64) new;
	return new->text;
}

static void forget(const struct stored *s)
{
	u64 *first = dict_find(&stored_paths, s->hash);

	if ((void *)*first == s) {
		*first = (u64)s->next;
	} else {
		struct stored *before = (void *)*first;
		while (before->next != s)
			before = before->next;
		before->next = s->next;
	}
	if (!*first)
		dict_remove(&stored_paths, s->hash);
	if (!stored_paths.nr)
		dict_fini(&stored_paths);
}

void path_free(const char *path)
{
	if (!path || !*path)
		return;

	struct stored *s = stored_of(path);
	if (--s->nr_users)
		return;
	forget(s);
	free(s);
}

size_t path_bytes(const char *path)
{
	return *path ? sizeof(struct stored) + stored_of(path)->len + 1 : 0;
}

/* A path has at most 4095 bytes. The kernel may write each newline as four bytes. */
#define LINE_MAX_BYTES 20000
#define QUICK_NS       (50 * NS_PER_MS) /* a list that is read in this time is not slow */
#define LOOK_NS        (10 * NS_PER_MS) /* between measurements of a slow one */

#define COPY_SPARE 8 /* spare places in a copy of a list, which is made in order to change it */

static u64 new_origin(void)
{
	static u64 last;

	return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
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

/* Moves *end before the mark " (deleted)" at the end of a path. Returns whether there was one. */
static bool cut_deleted(const char *text, const char **end)
{
	static const char suffix[] = " (deleted)";
	size_t suffix_len = sizeof(suffix) - 1;
	bool deleted = (size_t)(*end - text) > suffix_len && *text == '/' &&
		       !memcmp(*end - suffix_len, suffix, suffix_len);

	if (deleted)
		*end -= suffix_len;
	return deleted;
}

static const char *path_of(const char *text, const char *end, bool *deleted)
{
	while (text < end && *text == ' ')
		text++;
	*deleted = cut_deleted(text, &end);
	if (!memmem(text, (size_t)(end - text), "\\012", 4))
		return path_new(text, (size_t)(end - text));

	auto_free char *path = xstrndup(text, (size_t)(end - text));
	unescape(path);
	return path_new(path, strlen(path));
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
	m.writable = at[1] == 'w';
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
static void append(struct mappings *all, struct mapping *m)
{
	u64 from = all->nr ? all->at[all->nr - 1].end : 0;

	if (m->end <= from) {
		path_free(m->path);
		return;
	}
	if (m->start < from) {
		m->file_off += m->inode ? from - m->start : 0;
		m->start = from;
	}
	m->origin = new_origin();
	vec_push(all, *m);
}

/* The bytes of a mapping's path if the mapping follows `before`, NULL for the first one. */
static size_t path_bytes_after(const struct mapping *before, const struct mapping *m)
{
	return before && before->path == m->path ? 0 : path_bytes(m->path);
}

/* The bytes of the paths of mappings [from, to), as far as the list has them. */
static size_t paths_bytes(const struct mappings *all, size_t from, size_t to)
{
	size_t bytes = 0;

	for (size_t i = from; i < to && i < all->nr; i++)
		bytes += path_bytes_after(i ? &all->at[i - 1] : NULL, &all->at[i]);
	return bytes;
}

size_t mappings_bytes(const struct mappings *all)
{
	return all->cap * sizeof(all->at[0]) + paths_bytes(all, 0, all->nr);
}

/* Measures how long a read of mappings is blocked by the process, once the read has become slow. */
struct wait {
	u64 next_ns; /* when to look next */
	bool is_slow;
	u64 slow_ns, worked_ns, waited_ns; /* when it became slow, and the thread's times then */
	u64 blocked_ns;
};

/*
 * Adds the time in which this thread had no CPU and did not wait for one: the process blocked it.
 */
static void measure_wait(struct wait *w)
{
	u64 now_ns = time_mono_ns();

	if (now_ns < w->next_ns)
		return;
	w->next_ns = now_ns + LOOK_NS;
	u64 worked_ns = time_worked_ns(), waited_ns = time_waited_for_cpu_ns(0);
	if (!w->is_slow) {
		w->is_slow = true;
		w->slow_ns = now_ns;
		w->worked_ns = worked_ns;
		w->waited_ns = waited_ns;
	}
	u64 passed_ns = now_ns - w->slow_ns;
	u64 busy_ns = worked_ns - w->worked_ns + waited_ns - w->waited_ns;
	w->blocked_ns = passed_ns > busy_ns ? passed_ns - busy_ns : 0;
}

struct listing {
	struct mappings all;
	bool executable_only, has_lines;
	size_t paths_bytes;
	struct mappings_limits *limits;
	struct wait wait;
};

static int take_line(const char *at, const char *end, void *ctx)
{
	struct listing *list = ctx;
	struct mapping m;

	list->has_lines = true;
	measure_wait(&list->wait);
	if (list->wait.blocked_ns > list->limits->blocked_max_ns)
		return -ETIMEDOUT;
	if (!parse_line(at, end, list->executable_only, &m))
		return 0;
	list->paths_bytes +=
		path_bytes_after(list->all.nr ? &list->all.at[list->all.nr - 1] : NULL, &m);
	append(&list->all, &m);
	return list->paths_bytes + list->all.cap * sizeof(m) > list->limits->bytes_max ? -E2BIG : 0;
}

static int read_lines(pid_t pid, struct listing *list)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return file_each_line(fd, LINE_MAX_BYTES, take_line, list);
}

int mappings_read_within(pid_t pid, bool executable_only, struct mappings_limits *limits,
			 struct mappings *out)
{
	struct listing list = { .executable_only = executable_only,
				.limits = limits,
				.wait.next_ns = time_mono_ns() + QUICK_NS };
	int err = excluded_touch(pid) ?: read_lines(pid, &list);

	if (!err && !list.has_lines) { /* a thread of the kernel, or without its main thread */
		pid_t tid = proc_other_thread(pid);
		err = tid ? read_lines(tid, &list) : 0;
	}
	limits->blocked_ns = list.wait.blocked_ns;
	if (err) {
		mappings_fini(&list.all);
		return err;
	}
	*out = list.all;
	return 0;
}

int mappings_read(pid_t pid, bool executable_only, struct mappings *out)
{
	struct mappings_limits limits = { MAPPINGS_BYTES_MAX, MAPPINGS_BLOCKED_NS, 0 };

	return mappings_read_within(pid, executable_only, &limits, out);
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

bool mapping_is_uprobes_trampoline(const struct mapping *m)
{
	static const char name[] = "[uprobes-trampo";

	return !m->inode && !strncmp(m->path, name, strlen(name));
}

const struct mapping *mappings_find(const struct mappings *all, u64 addr)
{
	size_t i = first_behind(all, addr);

	return i < all->nr && all->at[i].start <= addr ? &all->at[i] : NULL;
}

const struct mapping *mappings_next(const struct mappings *all, u64 addr)
{
	size_t i = first_behind(all, addr);

	return i < all->nr ? &all->at[i] : NULL;
}

/* Copies a mapping of a list, with its path. */
static struct mapping copy_of(const struct mapping *m)
{
	struct mapping copy = *m;

	path_share(copy.path);
	return copy;
}

s64 mappings_insert(struct mappings *all, const struct mapping *m)
{
	struct mapping pieces[3];
	size_t nr = 0, cap = all->cap;

	if (m->start >= m->end)
		return 0;

	size_t from = first_behind(all, m->start), to = from;
	while (to < all->nr && all->at[to].start < m->end)
		to++;
	if (to > from && all->at[from].start < m->start) {
		pieces[nr] = copy_of(&all->at[from]);
		pieces[nr++].end = m->start;
	}
	/* perf's records have the mark " (deleted)" in the path */
	const char *path_end = m->path + strlen(m->path);
	pieces[nr] = *m;
	pieces[nr].origin = m->origin ?: new_origin();
	pieces[nr].deleted |= cut_deleted(m->path, &path_end);
	pieces[nr++].path = path_new(m->path, (size_t)(path_end - m->path));
	if (to > from && all->at[to - 1].end > m->end) {
		struct mapping *right = &pieces[nr++];
		*right = copy_of(&all->at[to - 1]);
		right->file_off += right->inode ? m->end - right->start : 0;
		right->start = m->end;
	}

	/* Neighbours with one path count it once, so the size of mapping `to` may change, too. */
	size_t paths = paths_bytes(all, from, to + 1);
	for (size_t i = from; i < to; i++)
		path_free(all->at[i].path);
	vec_reserve(all, nr);
	memmove(all->at + from + nr, all->at + to, (all->nr - to) * sizeof(all->at[0]));
	memcpy(all->at + from, pieces, nr * sizeof(pieces[0]));
	all->nr += nr - (to - from);
	return (s64)((all->cap - cap) * sizeof(all->at[0]) + paths_bytes(all, from, from + nr + 1) -
		     paths);
}

void mappings_copy(const struct mappings *from, struct mappings *out)
{
	struct mappings copy = { 0 };

	vec_reserve(&copy, from->nr + COPY_SPARE);
	for (size_t i = 0; i < from->nr; i++)
		copy.at[copy.nr++] = copy_of(&from->at[i]);
	*out = copy;
}

void mappings_fini(struct mappings *all)
{
	vec_each(m, all)
		path_free(m->path);
	vec_fini(all);
}

void mapping_budget_fini(struct mapping_budget *b)
{
	dict_fini(&b->by_user);
}

size_t mapping_budget_room(const struct mapping_budget *b, uid_t uid)
{
	const u64 *used = dict_find(&b->by_user, uid);
	size_t total = MAPPING_BLOCKS_BYTES - b->bytes;
	size_t share = MAPPING_USER_BYTES - (used ? *used : 0);

	return share < total ? share : total;
}

static bool take_room(struct mapping_budget *b, uid_t uid, size_t bytes)
{
	if (bytes > mapping_budget_room(b, uid))
		return false;
	b->bytes += bytes;
	*dict_add(&b->by_user, uid) += bytes;
	return true;
}

static void give_room(struct mapping_budget *b, uid_t uid, size_t bytes)
{
	u64 *used = dict_find(&b->by_user, uid);

	b->bytes -= bytes;
	*used -= bytes;
	if (!*used)
		dict_remove(&b->by_user, uid);
}

struct mapping_block *mapping_block_new(struct mapping_budget *b, uid_t uid, struct mappings *all)
{
	size_t bytes = sizeof(struct mapping_block) + mappings_bytes(all);

	if (!take_room(b, uid, bytes)) {
		mappings_fini(all);
		return NULL;
	}
	struct mapping_block *block = xcalloc(1, sizeof(*block));
	*block = (struct mapping_block){ *all, 1, uid, bytes };
	*all = (struct mappings){ 0 };
	return block;
}

struct mapping_block *mapping_block_share(struct mapping_block *block)
{
	if (block)
		block->nr_processes++;
	return block;
}

void mapping_block_drop(struct mapping_budget *b, struct mapping_block *block)
{
	if (!block || --block->nr_processes)
		return;
	give_room(b, block->uid, block->bytes);
	mappings_fini(&block->all);
	free(block);
}

/* Replaces *block by a copy. */
static bool copy(struct mapping_budget *b, struct mapping_block **block, uid_t uid)
{
	struct mappings all = { 0 };

	if (*block && (*block)->bytes > mapping_budget_room(b, uid))
		return false;
	if (*block)
		mappings_copy(&(*block)->all, &all);
	struct mapping_block *new = mapping_block_new(b, uid, &all);
	if (!new)
		return false;
	mapping_block_drop(b, *block);
	*block = new;
	return true;
}

/*
 * At most what an insertion needs: three more mappings, in an array of twice the size. The path of
 * the mapping behind it may count once more, because it splits that one or a run with its path.
 */
static size_t growth(const struct mapping_block *block, const struct mapping *m)
{
	const struct mappings *all = &block->all;
	const struct mapping *behind = mappings_next(all, m->end);
	size_t array = (all->nr + 3 > all->cap) ? (all->cap + 8) * sizeof(*m) : 0;

	return array + strlen(m->path) + 64 + (behind ? path_bytes(behind->path) : 0);
}

bool mapping_block_insert(struct mapping_budget *b, struct mapping_block **block, uid_t uid,
			  const struct mapping *m)
{
	if ((!*block || (*block)->nr_processes > 1) && !copy(b, block, uid))
		return false;

	struct mapping_block *own = *block;
	if (growth(own, m) > mapping_budget_room(b, own->uid))
		return false;
	s64 grown = mappings_insert(&own->all, m);
	own->bytes += (size_t)grown;
	if (grown >= 0)
		return take_room(b, own->uid, (size_t)grown);
	give_room(b, own->uid, (size_t)-grown);
	return true;
}

void mapping_block_move(struct mapping_budget *b, struct mapping_block *block, uid_t uid)
{
	if (!block || block->nr_processes > 1 || block->uid == uid ||
	    !take_room(b, uid, block->bytes))
		return;
	give_room(b, block->uid, block->bytes);
	block->uid = uid;
}
