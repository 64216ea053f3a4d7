/* SPDX-License-Identifier: Apache-2.0 */
/* Reads symbol tables. */
#include "elf/symbol_table.h"

#include <errno.h>
#include <string.h>

/* Of symbols, and again of their names: a worker has room for both. */
#define TABLE_BYTES_MAX (112u << 20)

int symbol_table_each(const struct elf *e, const char *table, symbol_fn visit, void *ctx)
{
	const struct elf_section *found = elf_section_find(e, table);
	size_t nr_sections, len, names_len;
	const struct elf_section *sections = elf_sections(e, &nr_sections);

	if (!elf_is_64(e))
		return -ENOEXEC;
	if (!found || found->type == SHT_NOBITS)
		return 0;
	if (found->link >= nr_sections)
		return -EBADMSG;
	auto_free void *symbols = NULL, *names = NULL;
	int err = elf_section_read(e, found, TABLE_BYTES_MAX, &symbols, &len)
			  ?: elf_section_read(e, &sections[found->link], TABLE_BYTES_MAX, &names,
					      &names_len);
	if (err)
		return err;
	if (!names_len || ((char *)names)[names_len - 1])
		return -EBADMSG;
	for (size_t i = 0; i < len / sizeof(Elf64_Sym); i++) {
		Elf64_Sym symbol;
		memcpy(&symbol, (Elf64_Sym *)symbols + i, sizeof(symbol));
		if (symbol.st_name < names_len)
			visit(ctx, &symbol, (char *)names + symbol.st_name);
	}
	return 0;
}

struct variable {
	const char *name;
	u64 vaddr; /* 0: not found */
};

static void take_variable(void *ctx, const Elf64_Sym *symbol, const char *name)
{
	struct variable *v = ctx;

	if (ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_shndx != SHN_UNDEF &&
	    !strcmp(name, v->name))
		v->vaddr = symbol->st_value;
}

int symbol_table_find_variable(const struct elf *e, const char *name, u64 *vaddr)
{
	struct variable v = { .name = name };
	int err = symbol_table_each(e, ".symtab", take_variable, &v);

	if (err)
		return err;
	if (!v.vaddr)
		return -ENOENT;
	*vaddr = v.vaddr;
	return 0;
}
