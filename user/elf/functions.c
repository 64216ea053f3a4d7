/* SPDX-License-Identifier: Apache-2.0 */
/* Where in a file a function begins, by its name. */
#include "elf/functions.h"

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
	const char *name;
	u64 file_off;
	bool found;
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

/* Keeps the nearest names, best first. */
static void consider(struct search *s, const char *name)
{
	u32 d = strstr(name, s->name) ? 1 : distance(s->name, name);
	size_t at = 0;

	if (d > DISTANCE_MAX || 2 * d > strlen(s->name))
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

static void visit(struct search *s, const Elf64_Sym *symbol, const char *name)
{
	u64 off;

	if (s->found || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
	    symbol->st_shndx == SHN_UNDEF || offset_of(s->elf, symbol->st_value, &off))
		return;
	if (!strcmp(name, s->name)) {
		s->found = true;
		s->file_off = off;
	} else {
		consider(s, name);
	}
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

int functions_find(const char *path, const char *name, u64 *file_off, char **near, size_t max)
{
	static const char *const tables[] = { ".symtab", ".dynsym" };
	auto_close int fd = file_open_regular(AT_FDCWD, path, 0);
	if (fd < 0)
		return fd;
	auto_elf struct elf *elf = NULL;
	int err = elf_open_fd(fd, &elf);
	if (err)
		return err;
	if (!elf_is_64(elf))
		return -ENOEXEC;

	struct search s = { .elf = elf, .name = name, .near = near };
	s.max = max < ARRAY_SIZE(s.distance) ? max : ARRAY_SIZE(s.distance);
	for (size_t i = 0; i < ARRAY_SIZE(tables) && !s.found; i++) {
		const struct elf_section *table = elf_section_find(elf, tables[i]);
		err = table && table->type != SHT_NOBITS ? search_table(&s, table) : 0;
		if (err)
			return err;
	}
	if (!s.found)
		return -ENOENT;
	for (size_t i = 0; i < s.max; i++) {
		free(near[i]);
		near[i] = NULL;
	}
	*file_off = s.file_off;
	return 0;
}
