/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where a function begins in a file, by its name. */
#include "elf/functions.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "elf/debugfile.h"
#include "elf/gopclntab.h"
#include "elf/symbol_table.h"

struct search {
	const struct elf *elf, *symbols; /* the same file, or `symbols` is its debug file */
	const char *const *names;
	size_t nr_names, nr_found;
	struct function *out; /* one for each name */
	struct near *near;    /* NULL if similar names are not wanted */
};

static int offset_of(const struct elf *e, u64 vaddr, u64 *file_off)
{
	u64 left;
	const struct elf_segment *s = elf_segment_of(e, vaddr, &left);

	if (!s || !(s->flags & PF_X))
		return -ENOENT;
	*file_off = vaddr - s->vaddr + s->file_off;
	return 0;
}

/*
 * Whether a symbol is the method "A::B::c" in the nested names of the Itanium C++ ABI:
 * _ZN1A1B1cE...
 */
static bool is_method(const char *symbol, const char *wanted)
{
	if (strncmp(symbol, "_ZN", 3) || !strstr(wanted, "::"))
		return false;
	symbol += symbol[3] == 'K' ? 4 : 3; /* a const method */
	for (const char *part = wanted, *end;; part = end + 2) {
		char *digits_end;
		end = strstr(part, "::");
		size_t len = end ? (size_t)(end - part) : strlen(part);
		if (!isdigit((unsigned char)*symbol) || strtoul(symbol, &digits_end, 10) != len ||
		    strncmp(digits_end, part, len))
			return false;
		symbol = digits_end + len;
		if (!end)
			return *symbol == 'E';
	}
}

static void consider(struct search *s, u64 vaddr, u64 size, const char *name)
{
	bool is_wanted = false;
	u64 off;

	for (size_t i = 0; i < s->nr_names; i++) {
		if (strcmp(name, s->names[i]) && !is_method(name, s->names[i]))
			continue;
		is_wanted = true;
		if (s->out[i].file_off || offset_of(s->elf, vaddr, &off))
			continue;
		s->out[i] = (struct function){ .file_off = off, .size = size };
		s->nr_found++;
	}
	if (!is_wanted && s->near && !offset_of(s->elf, vaddr, &off))
		near_consider(s->near, name);
}

static void visit(void *ctx, const Elf64_Sym *symbol, const char *name)
{
	struct search *s = ctx;

	if (s->nr_found < s->nr_names && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
	    symbol->st_shndx != SHN_UNDEF)
		consider(s, symbol->st_value, symbol->st_size, name);
}

static void search_go(struct search *s)
{
	auto_gopclntab struct gopclntab *t = NULL;
	struct go_function f;

	if (gopclntab_read(s->elf, &t))
		return;
	for (u32 i = 0; i < gopclntab_nr(t) && s->nr_found < s->nr_names; i++)
		if (gopclntab_function(t, i, &f))
			consider(s, f.start, f.end - f.start, f.name);
}

/* Finds functions in the file at `fd` with the symbols of the file at `symbols_fd`. */
static int search_file(struct search *s, int fd, int symbols_fd)
{
	static const char *const tables[] = { ".symtab", ".dynsym" };
	auto_elf struct elf *elf = NULL, *symbols = NULL;
	int err = elf_open_fd(fd, &elf) ?: elf_open_fd(symbols_fd, &symbols);

	if (err)
		return err;
	if (!elf_is_64(elf))
		return -ENOEXEC;
	s->elf = elf;
	s->symbols = symbols;
	for (size_t i = 0; !err && i < ARRAY_SIZE(tables) && s->nr_found < s->nr_names; i++)
		err = symbol_table_each(symbols, tables[i], visit, s);
	if (!err && s->nr_found < s->nr_names)
		search_go(s);
	return err;
}

int functions_find(int fd, const char *const *names, size_t nr, struct function *out,
		   struct near *near)
{
	struct search s = { .names = names, .nr_names = nr, .out = out, .near = near };

	memset(out, 0, nr * sizeof(*out));
	return search_file(&s, fd, fd);
}

int functions_find_stripped(int fd, const struct debug_places *places, const char *const *names,
			    size_t nr, struct function *out)
{
	struct search s = { .names = names, .nr_names = nr, .out = out };
	auto_elf struct elf *elf = NULL;
	int err = elf_open_fd(fd, &elf);

	if (err)
		return err;
	auto_close int debug_fd = debugfile_find(elf, places);
	if (debug_fd < 0)
		return debug_fd;
	for (size_t i = 0; i < nr; i++)
		s.nr_found += out[i].file_off != 0;
	return search_file(&s, fd, debug_fd);
}
