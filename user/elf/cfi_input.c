/* SPDX-License-Identifier: Apache-2.0 */
/* Finds call frame information: by section headers, otherwise by PT_GNU_EH_FRAME. */
#include "elf/cfi_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "elf/cursor.h"
#include "elf/elf.h"
#include "elf/go_cfi.h"
#include "elf/pointer.h"

#define PAGE        4096u
#define HEADERS_MAX 65536u /* an image's ELF and program headers */
#define HDR_SIZE    16u    /* bytes read of .eh_frame_hdr: enough for its first pointer */
#define HDR_VERSION 1

/* The source of an image's bytes. */
struct origin {
	struct image_memory memory;
	u64 bias; /* address of a p_vaddr minus that p_vaddr */
};

/* The span of p_vaddr that the file describes. */
static int image_span(const struct elf *e, u64 *base, u32 *size)
{
	size_t nr;
	const struct elf_segment *segments = elf_segments(e, &nr);
	u64 lowest = UINT64_MAX, end = 0;

	if (elf_machine(e) != EM_X86_64 || !elf_is_64(e))
		return -ENOEXEC;
	for (size_t i = 0; i < nr; i++) {
		const struct elf_segment *s = &segments[i];
		if (s->type != PT_LOAD || !s->memsz)
			continue;
		if (s->vaddr + s->memsz < s->vaddr)
			return -EBADMSG;
		if (s->vaddr < lowest)
			lowest = s->vaddr;
		if (s->vaddr + s->memsz > end)
			end = s->vaddr + s->memsz;
	}
	if (!end)
		return -ENODATA;
	lowest -= lowest % PAGE;
	if (end - lowest > UINT32_MAX)
		return -EFBIG;
	*base = lowest;
	*size = (u32)(end - lowest);
	return 0;
}

static int read_from_file(void *ctx, u64 vaddr, void *buf, size_t len)
{
	return elf_read_vaddr(ctx, vaddr, buf, len);
}

/* Finds .eh_frame's address through the .eh_frame_hdr of PT_GNU_EH_FRAME. */
static int eh_frame_vaddr(const struct elf *e, const struct origin *from, u64 *out)
{
	size_t nr;
	const struct elf_segment *s = elf_segments(e, &nr), *end = s + nr;
	u8 hdr[HDR_SIZE];

	while (s < end && s->type != PT_GNU_EH_FRAME)
		s++;
	if (s == end)
		return -ENODATA;
	if (s->filesz < 4)
		return -EBADMSG;
	size_t len = s->filesz < sizeof(hdr) ? s->filesz : sizeof(hdr);
	int err = from->memory.read(from->memory.ctx, s->vaddr + from->bias, hdr, len);
	if (err)
		return err;
	struct cursor c = { .at = hdr + 4, .end = hdr + len };
	if (hdr[0] != HDR_VERSION || !pointer_read(&c, hdr[1], s->vaddr + 4, out))
		return -EBADMSG;
	return 0;
}

/*
 * Without section headers the end of .eh_frame is unknown. This reads up to the end of the segment;
 * the terminator of .eh_frame ends the walk.
 */
static int read_by_header(const struct elf *e, const struct origin *from, struct cfi_input *out)
{
	u64 vaddr, left;

	int err = eh_frame_vaddr(e, from, &vaddr);
	if (err)
		return err;
	if (!elf_segment_of(e, vaddr, &left))
		return -EBADMSG;
	if (left > CFI_SECTION_MAX)
		return -EFBIG;
	auto_free u8 *data = xmalloc(left);
	err = from->memory.read(from->memory.ctx, vaddr + from->bias, data, left);
	if (err)
		return err;
	out->sections[0] = (struct cfi_section){ .data = take(data), .size = left, .vaddr = vaddr };
	out->nr = 1;
	return 0;
}

/* Adds the section. -ENOENT if the file does not contain it. */
static int add_section(const struct elf *e, const char *name, struct cfi_input *input)
{
	const struct elf_section *s = elf_section_find(e, name);
	void *data;
	size_t len;

	if (!s)
		return -ENOENT;
	int err = elf_section_read(e, s, CFI_SECTION_MAX, &data, &len);
	if (err)
		return err == -ENODATA ? -ENOENT : err;
	input->sections[input->nr++] = (struct cfi_section){
		.data = data,
		.size = len,
		.vaddr = s->vaddr,
		.is_debug_frame = !strcmp(name, ".debug_frame"),
	};
	return 0;
}

/* It comes before .debug_frame, which does not say where stacks of Go end. */
static void add_go(const struct elf *e, struct cfi_input *input)
{
	void *data;
	size_t len;

	if (!go_cfi_make(e, &data, &len))
		input->sections[input->nr++] =
			(struct cfi_section){ .data = data, .size = len, .is_debug_frame = true };
}

/* xor %rbp,%rbp; mov %rsp,%rdi; lea _DYNAMIC(%rip),%rsi; and $-16,%rsp; call */
static bool is_musl_start(const u8 code[18])
{
	return !memcmp(code, "\x48\x31\xed\x48\x89\xe7\x48\x8d\x35", 9) &&
	       !memcmp(code + 13, "\x48\x83\xe4\xf0\xe8", 5);
}

static void find_entry(const struct elf *e, struct cfi_input *input)
{
	u64 entry, left;
	u8 code[18];

	if (elf_read_at(e, offsetof(Elf64_Ehdr, e_entry), &entry, sizeof(entry)) ||
	    entry - input->base >= input->size)
		return;
	input->entry = (u32)(entry - input->base);
	if (elf_read_vaddr(e, entry, code, sizeof(code)) || !is_musl_start(code) ||
	    !elf_segment_of(e, entry, &left) || left > input->size - input->entry)
		return;
	input->musl_end = input->entry + (u32)left;
}

int cfi_input_of_file(const struct elf *e, struct cfi_input *out)
{
	auto_cfi_input struct cfi_input input = { 0 };

	int err = image_span(e, &input.base, &input.size);
	if (!err)
		err = add_section(e, ".eh_frame", &input);
	if (err && err != -ENOENT)
		return err;
	find_entry(e, &input);
	/* A supplement, therefore errors are ignored: most functions are in .eh_frame. */
	add_go(e, &input);
	add_section(e, ".debug_frame", &input);
	if (!input.nr) {
		const struct origin from = { .memory = { read_from_file, (void *)e } };
		err = read_by_header(e, &from, &input);
		if (err)
			return err;
	}
	*out = input;
	input.nr = 0;
	return 0;
}

/* Reads the ELF header and the program headers, but not the data they refer to. */
static int read_headers(const struct origin *from, u64 load_addr, void **out, size_t *len)
{
	Elf64_Ehdr ehdr;

	int err = from->memory.read(from->memory.ctx, load_addr, &ehdr, sizeof(ehdr));
	if (err)
		return err;
	if (memcmp(ehdr.e_ident, ELFMAG, SELFMAG) || ehdr.e_ident[EI_CLASS] != ELFCLASS64)
		return -ENOEXEC;
	size_t table = (size_t)ehdr.e_phnum * sizeof(Elf64_Phdr);
	if (ehdr.e_phoff < sizeof(ehdr) || ehdr.e_phoff > HEADERS_MAX ||
	    table > HEADERS_MAX - ehdr.e_phoff)
		return -EBADMSG;
	ehdr.e_shoff = ehdr.e_shnum = ehdr.e_shstrndx = 0;
	*len = ehdr.e_phoff + table;
	auto_free u8 *headers = xmalloc(*len);
	err = from->memory.read(from->memory.ctx, load_addr, headers, *len);
	if (err)
		return err;
	/* Keeps the checked header: the second read may have returned other bytes. */
	memcpy(headers, &ehdr, sizeof(ehdr));
	*out = take(headers);
	return 0;
}

int cfi_input_of_image(struct image_memory memory, u64 load_addr, struct cfi_input *out)
{
	struct origin from = { .memory = memory };
	struct cfi_input input = { 0 };
	auto_free void *headers = NULL;
	size_t len;

	int err = read_headers(&from, load_addr, &headers, &len);
	if (err)
		return err;
	auto_elf struct elf *e = NULL;
	err = elf_open_memory(headers, len, &e);
	if (!err)
		err = image_span(e, &input.base, &input.size);
	if (err)
		return err;
	from.bias = load_addr - input.base;
	err = read_by_header(e, &from, &input);
	if (!err)
		*out = input;
	return err;
}

void cfi_input_fini(struct cfi_input *input)
{
	while (input->nr)
		free((void *)input->sections[--input->nr].data);
}
