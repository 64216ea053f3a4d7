/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the function behind each jump of the PLT. The jump reads a slot of the GOT; a relocation
 * names the function that the dynamic linker puts into that slot (x86-64 psABI 5.2). This holds for
 * all forms that linkers write: lazy or bound at once, with or without endbr64.
 */
#include "elf/plt.h"

#include <string.h>

#include "base/alloc.h"
#include "base/dict.h"

#define MAX_PLT     (4u << 20)
#define MAX_RELOCS  (64u << 20)
#define MAX_STRINGS (64u << 20)

struct plt {
	const struct elf *e;
	struct dict symbol_of_slot;
	char *strings; /* .dynstr, ends in a NUL */
	size_t strings_len;
	Elf64_Sym *symbols;
	size_t nr_symbols;
};

static void add_slots(struct plt *p, const char *section)
{
	const struct elf_section *s = elf_section_find(p->e, section);
	auto_free void *data = NULL;
	size_t len;

	if (!s || s->type != SHT_RELA || elf_section_read(p->e, s, MAX_RELOCS, &data, &len))
		return;
	for (size_t at = 0; len - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
		Elf64_Rela r;
		memcpy(&r, (char *)data + at, sizeof(r));
		u32 type = ELF64_R_TYPE(r.r_info);
		if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT)
			*dict_add(&p->symbol_of_slot, r.r_offset) = ELF64_R_SYM(r.r_info);
	}
}

static bool read_symbols(struct plt *p)
{
	const struct elf_section *syms = elf_section_find(p->e, ".dynsym");
	const struct elf_section *strs = elf_section_find(p->e, ".dynstr");
	auto_free void *symbols = NULL, *strings = NULL;
	size_t len;

	if (!syms || !strs || elf_section_read(p->e, syms, MAX_STRINGS, &symbols, &len))
		return false;
	p->nr_symbols = len / sizeof(Elf64_Sym);
	if (elf_section_read(p->e, strs, MAX_STRINGS, &strings, &p->strings_len) || !p->strings_len)
		return false;
	((char *)strings)[p->strings_len - 1] = '\0';
	p->symbols = take(symbols);
	p->strings = take(strings);
	return true;
}

static const char *function_of_slot(const struct plt *p, u64 slot)
{
	const u64 *i = dict_find(&p->symbol_of_slot, slot);

	if (!i || *i >= p->nr_symbols || p->symbols[*i].st_name >= p->strings_len)
		return NULL;
	const char *name = p->strings + p->symbols[*i].st_name;
	return *name ? name : NULL;
}

/* The slot of an entry: [endbr64] [bnd] jmp *disp32(%rip). */
static bool slot_of(const u8 *code, size_t len, u64 vaddr, u64 *slot)
{
	static const u8 endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = 0;
	s32 disp;

	if (len >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)))
		at = sizeof(endbr64);
	if (at < len && code[at] == 0xf2)
		at++;
	if (len - at < 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	memcpy(&disp, code + at + 2, sizeof(disp));
	*slot = vaddr + at + 6 + (u64)(s64)disp;
	return true;
}

static void visit_section(const struct plt *p, const char *section, plt_visit *visit, void *arg)
{
	const struct elf_section *s = elf_section_find(p->e, section);
	auto_free void *code = NULL;
	size_t len;

	if (!s || elf_section_read(p->e, s, MAX_PLT, &code, &len))
		return;
	u32 step = s->entsize == 8 ? 8 : 16;
	for (size_t at = 0; len - at >= step; at += step) {
		u64 slot;
		if (!slot_of((u8 *)code + at, step, s->vaddr + at, &slot))
			continue;
		const char *function = function_of_slot(p, slot);
		if (function)
			visit(arg, s->vaddr + at, step, function);
	}
}

void plt_each(const struct elf *e, plt_visit *visit, void *arg)
{
	struct plt p = { .e = e };

	if (elf_machine(e) != EM_X86_64 || !elf_is_64(e))
		return;
	if (read_symbols(&p)) {
		add_slots(&p, ".rela.plt");
		add_slots(&p, ".rela.dyn");
		visit_section(&p, ".plt", visit, arg);
		visit_section(&p, ".plt.sec", visit, arg);
		visit_section(&p, ".plt.got", visit, arg);
	}
	dict_fini(&p.symbol_of_slot);
	free(p.symbols);
	free(p.strings);
}
