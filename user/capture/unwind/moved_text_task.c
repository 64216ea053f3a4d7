/* SPDX-License-Identifier: Apache-2.0 */
/* Compares memory with the text of a file, in a worker. Part of capture/unwind/moved_text.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "capture/unwind/moved_text.h"
#include "elf/elf.h"

#define PLACES_LEAST 4 /* at least this many of the compared places must be more than padding */
#define PAGE         4096ull
#define BREAKPOINT   0xcc /* breakpoint of x86, in text that a debugger has changed */

u32 text_nr_places(const struct text_question *q)
{
	u64 nr = (q->end - q->start) / TEXT_PLACE_BYTES;

	return nr < TEXT_PLACES_MAX ? (u32)nr : TEXT_PLACES_MAX;
}

u64 text_place(const struct text_question *q, u32 i)
{
	return q->start + (q->end - q->start) / text_nr_places(q) * i;
}

/* A place that is more than padding. */
static bool is_telling(const u8 *bytes)
{
	for (u32 i = 1; i < TEXT_PLACE_BYTES; i++)
		if (bytes[i] != bytes[0])
			return true;
	return false;
}

static bool is_same(const u8 *memory, const u8 *file)
{
	for (u32 i = 0; i < TEXT_PLACE_BYTES; i++)
		if (memory[i] != file[i] && memory[i] != BREAKPOINT)
			return false;
	return true;
}

/* `bytes`: the file with the bytes of all places. */
static bool is_text(const struct elf *e, int bytes, const struct text_question *q,
		    const struct text_answer *a)
{
	u32 nr = 0;

	for (u32 i = 0; i < text_nr_places(q); i++) {
		u8 memory[TEXT_PLACE_BYTES], file[TEXT_PLACE_BYTES];
		u64 at = text_place(q, i);
		if (at < a->start || at + TEXT_PLACE_BYTES > a->end)
			continue;
		if (elf_read_at(e, a->file_off + (at - a->start), file, sizeof(file)))
			continue; /* the place lies behind the end of the file */
		if (pread(bytes, memory, sizeof(memory), (off_t)i * TEXT_PLACE_BYTES) !=
			    TEXT_PLACE_BYTES ||
		    !is_same(memory, file))
			return false;
		nr += is_telling(file);
	}
	return nr >= PLACES_LEAST;
}

static u64 page_down(u64 at)
{
	return at & ~(PAGE - 1);
}

/* Where segment `text` lies, if the neighbour is a part of segment `near`. */
static bool place_segment(const struct elf_segment *text, const struct elf_segment *near,
			  const struct text_question *q, struct text_answer *out)
{
	u64 near_off = page_down(near->file_off), text_addr = page_down(text->vaddr);
	u64 text_end = page_down(text->vaddr + text->filesz + PAGE - 1);

	if (q->near_off < near_off || q->near_off >= near->file_off + near->filesz)
		return false;
	u64 bias = q->near_start - page_down(near->vaddr) - (q->near_off - near_off);
	u64 from = text_addr + bias, to = text_end + bias;
	out->start = q->start > from ? q->start : from;
	out->end = q->end < to ? q->end : to;
	out->file_off = page_down(text->file_off) + (out->start - from);
	return from < to && out->start < out->end;
}

static bool is_code(const struct elf_segment *s)
{
	return s->type == PT_LOAD && s->flags & PF_X;
}

int moved_text_task(struct worker_io *io, const int *fds, const void *params, size_t len)
{
	auto_elf struct elf *e = NULL;
	struct text_question q;
	size_t nr;

	if (len != sizeof(q))
		return -EINVAL;
	memcpy(&q, params, len);
	if (q.start >= q.end || q.end - q.start < PAGE)
		return -EINVAL;
	int err = elf_open_fd(fds[0], &e);
	if (err)
		return err;
	const struct elf_segment *all = elf_segments(e, &nr);
	for (size_t i = 0; i < nr; i++)
		for (size_t k = 0; k < nr && is_code(&all[i]); k++) {
			struct text_answer a;
			if (all[k].type == PT_LOAD && place_segment(&all[i], &all[k], &q, &a) &&
			    is_text(e, fds[1], &q, &a))
				return worker_put(io, &a, sizeof(a));
		}
	return -ENOENT;
}
