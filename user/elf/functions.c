/* SPDX-License-Identifier: Apache-2.0 */
/* Where in a file a function begins, by its name. */
#include "elf/functions.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "elf/elf.h"

#define TABLE_BYTES_MAX (512u << 20)
#define NAME_MAX_LEN    256 /* of names that are compared for likeness */
#define DISTANCE_MAX    4

struct search {
	const struct elf *elf;
	const char *const *names;
	size_t nr_names, nr_found;
	struct function *out; /* one for each name */
	char **near;
	size_t max;
	u32 distance[16]; /* of near[i] */
};

static int offset_of(const struct elf *e, u64 vaddr, u64 *file_off)
{
	size_t nr;
	const struct elf_segment *segments = elf_segments(e, &nr);

	for (size_t i = 0; i < nr; i++) {
		const struct elf_segment *s = &segments[i];
		if (s->type == PT_LOAD && s->flags & PF_X && vaddr - s->vaddr < s->filesz) {
			*file_off = vaddr - s->vaddr + s->file_off;
			return 0;
		}
	}
	return -ENOENT;
}

/* How many letters differ (Levenshtein); at most DISTANCE_MAX + 1. */
static u32 distance(const char *a, const char *b)
{
	size_t a_len = strlen(a), b_len = strnlen(b, NAME_MAX_LEN + 1);
	u32 row[NAME_MAX_LEN + 1];

	if (b_len > NAME_MAX_LEN || a_len > b_len + DISTANCE_MAX || b_len > a_len + DISTANCE_MAX)
		return DISTANCE_MAX + 1;
	for (u32 j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		u32 diagonal = row[0], least = row[0] = (u32)i;
		for (size_t j = 1; j <= b_len; j++) {
			u32 best = diagonal + (a[i - 1] != b[j - 1]);
			diagonal = row[j];
			best = best < row[j] + 1 ? best : row[j] + 1;
			row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
			least = least < row[j] ? least : row[j];
		}
		if (least > DISTANCE_MAX)
			return DISTANCE_MAX + 1;
	}
	return row[b_len];
}

/* Keeps the names nearest to the first one that is looked for, best first. */
static void consider(struct search *s, const char *name)
{
	const char *wanted = s->names[0];
	u32 d = strstr(name, wanted) ? 1 : distance(wanted, name);
	size_t at = 0;

	if (d > DISTANCE_MAX || 2 * d > strlen(wanted))
		return;
	for (size_t i = 0; i < s->max && s->near[i]; i++)
		if (!strcmp(s->near[i], name))
			return;
	while (at < s->max && s->near[at] && s->distance[at] <= d)
		at++;
	if (at == s->max)
		return;
	free(s->near[s->max - 1]);
	for (size_t i = s->max - 1; i > at; i--) {
		s->near[i] = s->near[i - 1];
		s->distance[i] = s->distance[i - 1];
	}
	s->near[at] = xstrndup(name, NAME_MAX_LEN);
	s->distance[at] = d;
}

/* Whether a symbol is the method "A::B::c" by the Itanium C++ ABI's nested names: _ZN1A1B1cE... */
static bool is_method(const char *symbol, const char *wanted)
{
	if (strncmp(symbol, "_ZN", 3) || !strstr(wanted, "::"))
		return false;
	symbol += symbol[3] == 'K' ? 4 : 3; /* const */
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

static void visit(struct search *s, const Elf64_Sym *symbol, const char *name)
{
	bool is_wanted = false;
	u64 off;

	if (s->nr_found == s->nr_names || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
	    symbol->st_shndx == SHN_UNDEF)
		return;
	for (size_t i = 0; i < s->nr_names; i++) {
		if (strcmp(name, s->names[i]) && !is_method(name, s->names[i]))
			continue;
		is_wanted = true;
		if (s->out[i].file_off || offset_of(s->elf, symbol->st_value, &off))
			continue;
		s->out[i] = (struct function){ .file_off = off, .size = symbol->st_size };
		s->nr_found++;
	}
	if (!is_wanted && s->max && !offset_of(s->elf, symbol->st_value, &off))
		consider(s, name);
}

static int search_table(struct search *s, const struct elf_section *table)
{
	size_t nr_sections, len, names_len;
	const struct elf_section *sections = elf_sections(s->elf, &nr_sections);

	if (table->link >= nr_sections)
		return -EBADMSG;
	auto_free void *symbols = NULL, *names = NULL;
	int err = elf_section_read(s->elf, table, TABLE_BYTES_MAX, &symbols, &len)
			  ?: elf_section_read(s->elf, &sections[table->link], TABLE_BYTES_MAX,
					      &names, &names_len);
	if (err)
		return err;
	if (!names_len || ((char *)names)[names_len - 1])
		return -EBADMSG;
	for (size_t i = 0; i < len / sizeof(Elf64_Sym); i++) {
		Elf64_Sym symbol;
		memcpy(&symbol, (Elf64_Sym *)symbols + i, sizeof(symbol));
		if (symbol.st_name < names_len)
			visit(s, &symbol, (char *)names + symbol.st_name);
	}
	return 0;
}

static int search_file(struct search *s, int fd)
{
	static const char *const tables[] = { ".symtab", ".dynsym" };
	auto_elf struct elf *elf = NULL;
	int err = elf_open_fd(fd, &elf);

	if (err)
		return err;
	if (!elf_is_64(elf))
		return -ENOEXEC;
	s->elf = elf;
	for (size_t i = 0; !err && i < ARRAY_SIZE(tables) && s->nr_found < s->nr_names; i++) {
		const struct elf_section *table = elf_section_find(elf, tables[i]);
		err = table && table->type != SHT_NOBITS ? search_table(s, table) : 0;
	}
	return err;
}

int functions_find(const char *path, const char *name, struct function *out, char **near,
		   size_t max)
{
	auto_close int fd = file_open_regular(AT_FDCWD, path, 0);
	if (fd < 0)
		return fd;

	struct function found = { 0 };
	struct search s = { .names = &name, .nr_names = 1, .out = &found, .near = near };
	s.max = max < ARRAY_SIZE(s.distance) ? max : ARRAY_SIZE(s.distance);
	int err = search_file(&s, fd);
	if (err)
		return err;
	if (!s.nr_found)
		return -ENOENT;
	for (size_t i = 0; i < s.max; i++) {
		free(near[i]);
		near[i] = NULL;
	}
	*out = found;
	return 0;
}

int functions_find_all(int fd, const char *const *names, size_t nr, struct function *out)
{
	struct search s = { .names = names, .nr_names = nr, .out = out };

	memset(out, 0, nr * sizeof(*out));
	return search_file(&s, fd);
}
