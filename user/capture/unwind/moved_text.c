/* SPDX-License-Identifier: Apache-2.0 */
/* Finds program text that was copied to anonymous memory. */
#include "capture/unwind/moved_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "base/vec.h"
#include "elf/elf.h"
#include "proc/mem.h"
#include "proc/target_file.h"

#define SUSPECTS_MAX 16         /* of a process; a runtime may have thousands of mappings */
#define LOOK_NS      NS_PER_SEC /* between two looks at all mappings of a process, at first */
#define LOOK_MAX_NS  (64 * NS_PER_SEC) /* after looks that found nothing */
#define MAPPINGS_MAX 8192              /* most mappings of a process that are examined */
#define NEAR_MAX     64                /* mappings between the memory and its file */

/* Anonymous memory with code, beside a file. */
struct suspect {
	u64 start, end;
	struct work *work;   /* compares its bytes with the file's; NULL: nothing is running */
	struct mapping file; /* the mapping of a file beside it; this struct owns the path */
	bool is_copy;
	struct text_answer text;
};

struct watched {
	struct process_id id;
	u64 program_ns, looked_ns, pause_ns;
	VEC(struct suspect) suspects;
};

struct moved_texts {
	struct workers *workers;
	struct dict by_pid; /* struct watched * */
};

struct moved_texts *moved_texts_new(void)
{
	return xcalloc(1, sizeof(struct moved_texts));
}

void moved_texts_use_workers(struct moved_texts *t, struct workers *workers)
{
	t->workers = workers;
}

static void free_watched(struct watched *w)
{
	vec_each(s, &w->suspects) {
		work_free(s->work);
		free((char *)s->file.path);
	}
	vec_fini(&w->suspects);
	free(w);
}

void moved_texts_free(struct moved_texts *t)
{
	if (!t)
		return;
	dict_each(slot, &t->by_pid)
		free_watched((void *)slot->value);
	dict_fini(&t->by_pid);
	free(t);
}

static struct watched *find(const struct moved_texts *t, pid_t pid)
{
	const u64 *slot = dict_find(&t->by_pid, (u64)pid);

	return slot ? (void *)*slot : NULL;
}

void moved_texts_forget(struct moved_texts *t, struct process_id id)
{
	struct watched *w = find(t, id.pid);

	if (!w || !process_id_same(w->id, id))
		return;
	dict_remove(&t->by_pid, (u64)id.pid);
	free_watched(w);
}

static struct watched *watched_of(struct moved_texts *t, const struct process *p)
{
	struct watched *w = find(t, p->id.pid);

	if (w && process_id_same(w->id, p->id) && w->program_ns == p->program_ns)
		return w;
	if (w)
		free_watched(w);
	w = xcalloc(1, sizeof(*w));
	w->id = p->id;
	w->program_ns = p->program_ns;
	*dict_add(&t->by_pid, (u64)p->id.pid) = (u64)(uintptr_t)w;
	return w;
}

/*
 * Whether the mapping may be moved text. Writable memory is left out: it may change after the
 * check.
 */
static bool may_be_text(const struct mapping *m)
{
	return m->executable && !m->writable && !m->inode &&
	       (!*m->path || !strncmp(m->path, "[anon:", strlen("[anon:")));
}

static struct suspect *find_suspect(const struct watched *w, const struct mapping *m)
{
	vec_each(s, &w->suspects)
		if (s->start == m->start && s->end == m->end)
			return s;
	return NULL;
}

/* *Reads the bytes of all places into a memory file; *fd gets its descriptor. */
static int read_places(struct process_id id, const struct text_question *q, int *fd)
{
	u32 nr = text_nr_places(q);
	auto_free u8 *bytes = xmalloc((size_t)nr * TEXT_PLACE_BYTES);
	auto_free struct mem_request *reads = xcalloc(nr, sizeof(*reads));
	struct mem *mem = NULL;
	int err = mem_open(id, &mem);

	if (err)
		return err;
	for (u32 i = 0; i < nr; i++)
		reads[i] = (struct mem_request){ text_place(q, i),
						 bytes + (size_t)i * TEXT_PLACE_BYTES,
						 TEXT_PLACE_BYTES, false };
	int nr_read = mem_read_batch(mem, reads, nr);
	mem_free(mem);
	if (nr_read != (int)nr)
		return nr_read < 0 ? nr_read : -EFAULT;
	auto_close int copy = memfile_new("sysflame-text");
	if (copy < 0)
		return copy;
	if (pwrite(copy, bytes, (size_t)nr * TEXT_PLACE_BYTES, 0) != (ssize_t)nr * TEXT_PLACE_BYTES)
		return -ENOMEM;
	*fd = take_fd(copy);
	return 0;
}

/* Asks whether the memory holds text of the file that `near` maps. */
static int ask(struct moved_texts *t, const struct process *p, const struct mapping *near,
	       struct suspect *s)
{
	const struct text_question q = { s->start, s->end, near->start, near->file_off };
	auto_close int fd = mapped_file_open(p->id.pid, near), bytes = -1;
	struct stat st;

	if (fd < 0)
		return fd;
	int err = file_status(fd, &st) ?: read_places(p->id, &q, &bytes);
	if (err)
		return err;
	const struct work_order order = {
		.task = WORKER_MOVED_TEXT,
		.user = st.st_uid,
		.fds = { take_fd(fd), take_fd(bytes) },
		.params = &q,
		.len = sizeof(q),
		.max = sizeof(struct text_answer),
		.run = moved_text_task,
	};
	s->work = work_start(t->workers, &order);
	return 0;
}

static bool is_file(const struct mapping *m)
{
	return m->inode && m->path[0] == '/';
}

/* The nearest mapping of a file below or above the memory, which belongs to the same image. */
static const struct mapping *find_near(const struct mappings *all, const struct mapping *m)
{
	const struct mapping *at = mappings_next(all, m->start), *end = all->at + all->nr;
	const struct mapping *below = NULL, *above = NULL;

	for (size_t i = 1; at && !below && i <= NEAR_MAX && i <= (size_t)(at - all->at); i++)
		below = is_file(at - i) ? at - i : NULL;
	for (size_t i = 0; at && !above && i < NEAR_MAX && i < (size_t)(end - at); i++)
		above = is_file(at + i) ? at + i : NULL;
	if (below && above && below->inode == above->inode)
		return below;
	if (below && below->end == m->start)
		return below;
	return above && above->start == m->end ? above : NULL;
}

/* Starts to check memory about which nothing is known yet. */
static void look(struct moved_texts *t, const struct process *p, struct watched *w)
{
	struct mappings all;
	size_t nr_before = w->suspects.nr;

	if (p->mappings.nr > MAPPINGS_MAX ||
	    (w->looked_ns && time_mono_ns() - w->looked_ns < w->pause_ns))
		return;
	if (mappings_read(p->id.pid, false, &all))
		return;
	vec_each(m, &p->mappings) {
		if (!may_be_text(m) || find_suspect(w, m) || w->suspects.nr >= SUSPECTS_MAX)
			continue;
		const struct mapping *near = find_near(&all, m);
		if (!near)
			continue;
		struct suspect s = { .start = m->start, .end = m->end, .file = *near };
		int err = ask(t, p, near, &s);
		s.file.path = xstrdup(near->path);
		if (err)
			log_debug("process %d: %llx is not compared with %s: %s", (int)p->id.pid,
				  (unsigned long long)m->start, near->path, strerror(-err));
		vec_push(&w->suspects, s);
	}
	mappings_fini(&all);
	w->pause_ns = nr_before < w->suspects.nr || !w->pause_ns ? LOOK_NS
		      : w->pause_ns < LOOK_MAX_NS                ? 2 * w->pause_ns
								 : LOOK_MAX_NS;
	w->looked_ns = time_mono_ns();
}

static int take_answer(struct suspect *s)
{
	auto_free void *bytes = NULL;
	size_t nr = 0;
	int err = work_result(s->work, &bytes, &nr);

	if (err == -EAGAIN)
		return err;
	work_free(take(s->work));
	if (err || nr != sizeof(s->text))
		return 0;
	memcpy(&s->text, bytes, nr);
	s->is_copy =
		s->text.start >= s->start && s->text.end <= s->end && s->text.start < s->text.end;
	return 0;
}

/* Records the memory as a mapping of the file. */
static void put(struct process *p, const struct suspect *s)
{
	struct mapping m = s->file;

	m.start = s->text.start;
	m.end = s->text.end;
	m.file_off = s->text.file_off;
	m.readable = m.executable = m.is_copy = true;
	m.writable = false;
	process_mmap(p, &m);
}

int moved_texts_find(struct moved_texts *t, struct process *p)
{
	VEC(struct suspect *) found = { 0 };
	struct watched *w = NULL;
	bool is_new = false, is_asked = false;

	vec_each(m, &p->mappings) {
		if (!may_be_text(m))
			continue;
		w = w ?: watched_of(t, p);
		is_new |= !find_suspect(w, m);
	}
	if (is_new)
		look(t, p, w);
	if (w)
		vec_each(s, &w->suspects)
			if (s->work)
				is_asked |= take_answer(s) == -EAGAIN;
	vec_each(m, &p->mappings) {
		struct suspect *s = w && may_be_text(m) ? find_suspect(w, m) : NULL;
		if (s && s->is_copy)
			vec_push(&found, s);
	}
	vec_each(s, &found) /* changes the list of mappings */
		put(p, *s);
	vec_fini(&found);
	return is_asked ? -EAGAIN : 0;
}
