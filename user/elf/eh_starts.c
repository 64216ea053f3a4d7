/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where functions begin, by the search table of .eh_frame. */
#include "elf/eh_starts.h"

#include <string.h>

/* DWARF pointer encodings: the base in the high half, the format in the low half. */
#define ENC_SDATA4  0x0b
#define ENC_UDATA4  0x03
#define ENC_PCREL   0x10
#define ENC_DATAREL 0x30

#define CHUNK_NR 1024

struct header {
	u8 version, frame_enc, count_enc, table_enc;
	u32 frame, nr;
};

struct entry {
	s32 start, fde;
};

static const struct elf_segment *find_segment(const struct elf *e)
{
	size_t nr;
	const struct elf_segment *segments = elf_segments(e, &nr);

	for (size_t i = 0; i < nr; i++)
		if (segments[i].type == PT_GNU_EH_FRAME)
			return &segments[i];
	return NULL;
}

void eh_starts_each(const struct elf *e, eh_start_visit *visit, void *arg)
{
	const struct elf_segment *p = find_segment(e);
	struct entry chunk[CHUNK_NR];
	struct header h;

	if (!p || p->filesz < sizeof(h) || elf_read_at(e, p->file_off, &h, sizeof(h)))
		return;
	if (h.version != 1 || h.frame_enc != (ENC_PCREL | ENC_SDATA4) ||
	    h.count_enc != ENC_UDATA4 || h.table_enc != (ENC_DATAREL | ENC_SDATA4))
		return;
	u64 room = (p->filesz - sizeof(h)) / sizeof(struct entry);
	u64 nr = h.nr < room ? h.nr : room;
	if (nr > EH_STARTS_MAX)
		return;
	for (u64 i = 0; i < nr;) {
		size_t some = nr - i < CHUNK_NR ? nr - i : CHUNK_NR;
		u64 off = p->file_off + sizeof(h) + i * sizeof(struct entry);
		if (elf_read_at(e, off, chunk, some * sizeof(struct entry)))
			return;
		for (size_t k = 0; k < some; k++)
			if (!visit(arg, p->vaddr + (u64)(s64)chunk[k].start))
				return;
		i += some;
	}
}
