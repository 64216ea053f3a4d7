/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that an offset in a file is the start of an instruction. */
#include "elf/instruction.h"

#include <errno.h>

#ifdef HAVE_CAPSTONE
#include <capstone/capstone.h>
#endif

#include "base/alloc.h"
#include "base/auto.h"
#include "elf/elf.h"
#include "elf/functions.h"

#define FUNCTION_MAX (4u << 20) /* bytes from the function's start to the offset */
#define ARM64_BYTES  4

/* The executable segment that holds the offset. */
static const struct elf_segment *find_segment(const struct elf *e, u64 file_off)
{
	size_t nr;
	const struct elf_segment *all = elf_segments(e, &nr);

	for (size_t i = 0; i < nr; i++) {
		const struct elf_segment *s = &all[i];
		if (s->type == PT_LOAD && s->flags & PF_X && file_off - s->file_off < s->filesz)
			return s;
	}
	return NULL;
}

struct instruction_search {
	u64 vaddr;
	/* start of the last function that begins at or before vaddr; 0: no function does */
	u64 start;
};

static bool look_at(void *arg, u64 start)
{
	struct instruction_search *s = arg;

	if (start <= s->vaddr && start > s->start)
		s->start = start;
	return true;
}

#ifdef HAVE_CAPSTONE

const char *instruction_missing(void)
{
	return NULL;
}

/* Compilers keep data out of the code: everything after the function's start is instructions. */
static int follow(const u8 *code, size_t len, u64 wanted)
{
	csh disassembler;
	u64 at = 0;

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &disassembler))
		return -ENOTSUP;
	cs_insn *insn = cs_malloc(disassembler);
	while (at < wanted && cs_disasm_iter(disassembler, &code, &len, &at, insn))
		;
	cs_free(insn, 1);
	cs_close(&disassembler);
	return at == wanted ? 0 : -EILSEQ;
}

#else

const char *instruction_missing(void)
{
	return "built without libcapstone: uprobe:FILE:SYMBOL+OFFSET is not supported";
}

static int follow(const u8 *code, size_t len, u64 wanted)
{
	return -ENOTSUP;
}

#endif

static int begins(const struct elf *e, u64 file_off)
{
	const struct elf_segment *s = find_segment(e, file_off);
	if (!s)
		return -ENODATA;
	if (elf_machine(e) == EM_AARCH64)
		return file_off % ARM64_BYTES ? -EILSEQ : 0;

	struct instruction_search search = { .vaddr = file_off - s->file_off + s->vaddr };
	eh_starts_each(e, look_at, &search);
	u64 start = search.start, vaddr = search.vaddr;
	if (start < s->vaddr || vaddr - start > FUNCTION_MAX)
		return -ENODATA;
	if (start == vaddr)
		return 0;
	/* The instruction before the offset may end after it. */
	u64 len = vaddr - start + 16, left = s->vaddr + s->filesz - start;
	len = len < left ? len : left;
	auto_free u8 *code = xmalloc(len);
	return elf_read_at(e, start - s->vaddr + s->file_off, code, len)
		       ?: follow(code, len, vaddr - start);
}

int instruction_begins(int fd, u64 file_off)
{
	auto_elf struct elf *elf = NULL;

	return elf_open_fd(fd, &elf) ?: begins(elf, file_off);
}
