/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile images in a process's memory, and the contexts that processes publish. The input is the
 * memory from BASE on.
 */
#include <stdlib.h>
#include <string.h>

#include "elf/image.h"
#include "jvm/process/process_context.h"
#include "proc/mem.h"

#define BASE      0x10000
#define READS_MAX 20000 /* in a process a search ends after some time */

struct memory {
	struct mem *mem;
	unsigned nr;
};

static int read_memory(void *ctx, u64 addr, void *buf, size_t len)
{
	struct memory *m = ctx;

	return ++m->nr > READS_MAX ? -1 : mem_read(m->mem, addr, buf, len);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const struct mem_segment segment = { BASE, data, size };
	struct memory memory = { .mem = mem_of_segments(&segment, 1) };
	struct process_context context = { 0 };
	struct image_tls place;
	struct image img;

	if (!image_read((struct image_memory){ read_memory, &memory }, BASE, &img) &&
	    !image_find_tls(&img, "otel_thread_ctx_v1", &place) && !place.module &&
	    place.offset >= 0)
		abort();
	mem_free(memory.mem);
	if (!process_context_parse(data, size, &context) && context.nr_keys > PROCESS_KEYS_MAX)
		abort();
	process_context_fini(&context);
	return 0;
}
