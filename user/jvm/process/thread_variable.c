/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the variable that leads to the context of a thread. Part of jvm/process/process_context.h.
 */
#include <errno.h>

#include "base/log.h"
#include "base/time.h"
#include "elf/image.h"
#include "jvm/process/process_context.h"
#include "proc/mem.h"

#define VARIABLE   "otel_thread_ctx_v1"
#define IMAGES_MAX 1024
#define SEARCH_NS  (100 * NS_PER_MS) /* a search in a JVM takes 0.4 ms */

struct search {
	struct mem *mem;
	u64 end_ns; /* all reads fail from then on */
	struct thread_variable *out;
	int result; /* -ENOENT until an image defines the variable */
	bool has_program, is_musl;
};

/* Tables of an image may be made so that a search in them takes for ever. */
static int read_memory(void *ctx, u64 addr, void *buf, size_t len)
{
	const struct search *s = ctx;

	return time_mono_ns() > s->end_ns ? -ETIMEDOUT : mem_read(s->mem, addr, buf, len);
}

/* The first mapping of a file; libraries begin with the headers of their file. */
static bool is_image(const struct mapping *m)
{
	return m->inode && !m->file_off && m->path[0] == '/';
}

static void search_image(struct search *s, u64 base)
{
	struct image img;
	struct image_tls place;

	if (image_read((struct image_memory){ read_memory, s }, base, &img))
		return;
	s->has_program |= img.is_program;
	s->is_musl |= img.is_program && img.is_musl;
	if (s->result != -ENOENT)
		return;
	int err = image_find_tls(&img, VARIABLE, &place);
	if (!err)
		*s->out =
			(struct thread_variable){ .module = place.module, .offset = place.offset };
	s->result = err;
}

static void search_all(struct search *s, const struct mappings *all)
{
	int nr = 0;

	for (size_t i = 0; i < all->nr && nr < IMAGES_MAX; i++) {
		if (!is_image(&all->at[i]))
			continue;
		if (s->has_program && s->result != -ENOENT)
			return;
		search_image(s, all->at[i].start);
		nr++;
	}
}

int thread_variable_find(struct process *p, struct thread_variable *out)
{
	struct mappings all = { 0 };
	struct search s = { .out = out, .result = -ENOENT };
	u64 begin_ns = time_mono_ns();
	u64 worked_ns = time_worked_ns() + mem_readers_worked_ns();
	int err = process_read_mappings(p, &all) ?: mem_open(p->id, &s.mem);

	if (err) {
		mappings_fini(&all);
		return err;
	}
	s.end_ns = begin_ns + SEARCH_NS;
	search_all(&s, &all);
	out->is_musl = s.is_musl;
	mem_free(s.mem);
	mappings_fini(&all);
	u64 now_ns = time_mono_ns();
	bool is_late = now_ns > s.end_ns;
	process_charge_search(p, now_ns - begin_ns,
			      time_worked_ns() + mem_readers_worked_ns() - worked_ns);
	log_debug("process %d: looked for its variable of contexts for %llu us", (int)p->id.pid,
		  (unsigned long long)(now_ns - begin_ns) / 1000);
	return s.result == -ENOENT && is_late ? -ETIMEDOUT : s.result;
}
