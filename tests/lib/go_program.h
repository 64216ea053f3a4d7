/* SPDX-License-Identifier: Apache-2.0 */
/* ELF files with the table of functions of a Go program. */
#pragma once

#include <elf.h>
#include <string.h>

#include "base/types.h"

#define GO_TEXT     0x401000u /* address of the first function */
#define GO_TABLE    0x402000u
#define GO_MODULE   0x400400u /* .go.module, 256 bytes */
#define GO_RELA     0x400800u /* .rela, one entry */
#define GO_BASE     0x400000u
#define GO_MOST     0x40000u /* bytes of a table */
#define GO_SECTIONS 6

/* One segment holds everything. Sections without a name are not there. */
struct go_program {
	Elf64_Ehdr h;
	Elf64_Phdr p;
	Elf64_Shdr s[GO_SECTIONS];
	char names[128];
	u8 rest[GO_TABLE - GO_BASE - sizeof(Elf64_Ehdr) - sizeof(Elf64_Phdr) -
		GO_SECTIONS * sizeof(Elf64_Shdr) - 128];
	u8 table[GO_MOST];
};

static inline u8 *go_program_at(struct go_program *f, u32 vaddr)
{
	return (u8 *)f + (vaddr - GO_BASE);
}

/* Appends a section. `at` is an address. */
static inline void go_program_add(struct go_program *f, const char *name, u32 type, u32 at, u64 len)
{
	u32 used = (u32)f->s[1].sh_size;

	strcpy(f->names + used, name);
	f->s[1].sh_size += strlen(name) + 1;
	f->s[f->h.e_shnum++] = (Elf64_Shdr){ .sh_name = used,
					     .sh_type = type,
					     .sh_flags = SHF_ALLOC,
					     .sh_addr = at,
					     .sh_offset = at - GO_BASE,
					     .sh_size = len };
}

/* A file whose section `name` is the table. */
static inline void go_program_make(struct go_program *f, const char *name, const void *table,
				   size_t len)
{
	*f = (struct go_program){ .h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
						      EV_CURRENT },
					 .e_machine = EM_X86_64,
					 .e_phoff = offsetof(struct go_program, p),
					 .e_phentsize = sizeof(f->p),
					 .e_phnum = 1,
					 .e_shoff = offsetof(struct go_program, s),
					 .e_shentsize = sizeof(f->s[0]),
					 .e_shnum = 2,
					 .e_shstrndx = 1 },
				  .p = { .p_type = PT_LOAD,
					 .p_flags = PF_R | PF_X,
					 .p_vaddr = GO_BASE,
					 .p_filesz = sizeof(*f),
					 .p_memsz = sizeof(*f) } };
	f->s[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct go_program, names),
				.sh_size = 1 };
	memcpy(f->table, table, len);
	go_program_add(f, name, SHT_PROGBITS, GO_TABLE, len);
}
