/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the variable that leads to the context of a thread. Part of jvm/process/process_context.h.
 */
#include <errno.h>

#include "base/time.h"
#include "elf/image.h"
#include "jvm/process/process_context.h"
#include "proc/mem.h"

#define VARIABLE   "otel_thread_ctx_v1"
#define IMAGES_MAX 1024
#define SEARCH_NS  (50 * NS_PER_MS)

static int read_memory(void *mem, u64 addr, void *buf, size_t len)
{
	return mem_read(mem, addr, buf, len);
}

/* The first mapping of a file; libraries begin with the headers of their file. */
static bool is_image(const struct mapping *m)
{
	return m->inode && !m->file_off && m->path[0] == '/';
}

struct search {
	struct mem *mem;
	struct thread_variable *out;
	int result; /* -ENOENT until an image defines the variable */
	bool has_program, is_musl;
};

static void search_image(struct search *s, u64 base)
{
	struct image img;
	struct image_tls place;

	if (image_read((struct image_memory){ read_memory, s->mem }, base, &img))
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

int thread_variable_find(struct process *p, struct thread_variable *out)
{
	struct mappings all = { 0 };
	struct search s = { .out = out, .result = -ENOENT };
	u64 end_ns = time_mono_ns() + SEARCH_NS;
	int nr = 0;
	int err = process_read_mappings(p, &all) ?: mem_open(p->id, &s.mem);

	if (err) {
		mappings_fini(&all);
		return err;
	}
	for (size_t i = 0; i < all.nr && nr < IMAGES_MAX; i++) {
		if (!is_image(&all.at[i]))
			continue;
		if ((s.has_program && s.result != -ENOENT) || time_mono_ns() > end_ns)
			break;
		search_image(&s, all.at[i].start);
		nr++;
	}
	out->is_musl = s.is_musl;
	mem_free(s.mem);
	mappings_fini(&all);
	return s.result;
}
