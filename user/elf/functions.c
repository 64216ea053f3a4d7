/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where functions begin in a file, by name or by .eh_frame, and reads symbol tables. */
#include "elf/functions.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "elf/debugfile.h"
#include "elf/gopclntab.h"

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
