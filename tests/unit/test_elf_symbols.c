/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/vec.h"
#include "elf/debugfile.h"
#include "elf/functions.h"
#include "elf/symbols.h"

struct truth {
	u64 addr, size;
	const char *name;
};

struct truths {
	VEC(struct truth) all;
	Elf *elf;
	int fd;
};

/* Reads the same symbols with libelf. */
static void read_truth(const char *path, struct truths *out)
{
	Elf_Scn *scn = NULL;

	elf_version(EV_CURRENT);
	out->fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_non_null(out->elf = elf_begin(out->fd, ELF_C_READ_MMAP, NULL));
	while ((scn = elf_nextscn(out->elf, scn))) {
		GElf_Shdr sh;
		assert_non_null(gelf_getshdr(scn, &sh));
		if (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM)
			continue;
		for (int i = 0; i < (int)(sh.sh_size / sh.sh_entsize); i++) {
			GElf_Sym sym;
			assert_non_null(gelf_getsym(elf_getdata(scn, NULL), i, &sym));
			if (GELF_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF ||
			    !sym.st_size)
				continue;
			vec_push(&out->all,
				 (struct truth){ sym.st_value, sym.st_size,
						 elf_strptr(out->elf, sh.sh_link, sym.st_name) });
		}
	}
}

static bool truth_holds(const struct truths *t, u64 addr, const char *name)
{
	vec_each(s, &t->all)
		if (addr - s->addr < s->size && !strcmp(s->name, name))
			return true;
	return false;
}

static void assert_agrees(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_symbols struct symbols *s = NULL;
	auto_elf struct elf *e = NULL;
	struct truths t = { 0 };
	u64 start;

	assert_int_equal(elf_open_fd(fd, &e), 0);
	s = symbols_read(e, NULL, 0, 64u << 20);
	read_truth(path, &t);
	size_t step = t.all.nr / 211 + 1;
	for (size_t i = 0; i < t.all.nr; i += step) {
		const struct truth *f = &t.all.at[i];
		u64 addrs[] = { f->addr, f->addr + f->size / 2, f->addr + f->size - 1 };
		for (size_t k = 0; k < ARRAY_SIZE(addrs); k++) {
			const char *name = symbols_find(s, addrs[k], &start);
			assert_non_null(name);
			assert_true(truth_holds(&t, addrs[k], name));
		}
	}
	elf_end(t.elf);
	close(t.fd);
	vec_fini(&t.all);
}

static void every_function_is_named_as_libelf_names_it(void **state)
{
	Dl_info libc;

	assert_true(dladdr((void *)(uintptr_t)strtoul, &libc));
	assert_agrees(libc.dli_fname);
	assert_agrees("/proc/self/exe");
	assert_agrees("/bin/true");
}

/* Files made by the test: code at 0x1000, one symbol table. */

struct made {
	Elf64_Ehdr h;
	Elf64_Phdr p;
	Elf64_Shdr s[4];
	char strings[64];
	Elf64_Sym syms[32];
};

static void make(struct made *f, const Elf64_Sym *syms, size_t nr, const char *strings, size_t len)
{
	*f = (struct made){ .h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
				   .e_machine = EM_X86_64,
				   .e_phoff = offsetof(struct made, p),
				   .e_phentsize = sizeof(Elf64_Phdr),
				   .e_phnum = 1,
				   .e_shoff = offsetof(struct made, s),
				   .e_shentsize = sizeof(Elf64_Shdr),
				   .e_shnum = 4,
				   .e_shstrndx = 1 },
			    .p = { .p_type = PT_LOAD,
				   .p_flags = PF_R | PF_X,
				   .p_vaddr = 0x1000,
				   .p_filesz = 0x1000,
				   .p_memsz = 0x1000 } };
	f->s[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct made, strings),
				.sh_size = sizeof(f->strings) };
	f->s[2] = (Elf64_Shdr){ .sh_name = 1,
				.sh_type = SHT_SYMTAB,
				.sh_offset = offsetof(struct made, syms),
				.sh_size = nr * sizeof(syms[0]),
				.sh_link = 1 };
	f->s[3] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS,
				.sh_flags = SHF_EXECINSTR | SHF_ALLOC,
				.sh_addr = 0x1000,
				.sh_size = 0x800 };
	memcpy(f->strings, strings, len);
	memcpy(f->syms, syms, nr * sizeof(syms[0]));
}

#define FUNC(at, len, str, bind)                                                           \
	{                                                                                  \
		.st_name = (str), .st_info = ELF64_ST_INFO(bind, STT_FUNC), .st_shndx = 3, \
		.st_value = (at), .st_size = (len)                                         \
	}
#define LABEL(at, str)                                                                            \
	{                                                                                         \
		.st_name = (str), .st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), .st_shndx = 3, \
		.st_value = (at)                                                                  \
	}

/* Names: 9 "a", 11 "_b", 14 "__c", 18 "$x", 21 "dd". */
static const char strings[] = "\0.symtab\0a\0_b\0__c\0$x\0dd";

static const char *name_at(const Elf64_Sym *syms, size_t nr, u64 addr)
{
	static const char *const known[] = { "a", "_b", "__c", "$x", "dd" };
	auto_symbols struct symbols *s = NULL;
	auto_elf struct elf *e = NULL;
	struct made f;
	u64 start;

	make(&f, syms, nr, strings, sizeof(strings));
	assert_int_equal(elf_open_memory(&f, sizeof(f), &e), 0);
	s = symbols_read(e, NULL, 0, 1 << 20);
	const char *name = symbols_find(s, addr, &start);
	for (size_t i = 0; name && i < ARRAY_SIZE(known); i++)
		if (!strcmp(known[i], name))
			return known[i];
	return "-";
}

/* There is room for 5 symbols, therefore up to 20 are read: a file may be a hole of terabytes. */
static void a_table_with_far_too_many_symbols_is_skipped(void **state)
{
	Elf64_Sym syms[21] = { 0 };

	for (size_t nr = 20; nr <= 21; nr++) {
		auto_symbols struct symbols *s = NULL;
		auto_elf struct elf *e = NULL;
		struct made f;
		u64 start;
		syms[nr - 1] = (Elf64_Sym)FUNC(0x1000, 0x10, 9, STB_GLOBAL);
		make(&f, syms, nr, strings, sizeof(strings));
		assert_int_equal(elf_open_memory(&f, sizeof(f), &e), 0);
		s = symbols_read(e, NULL, 0, 64);
		assert_int_equal(symbols_find(s, 0x1000, &start) != NULL, nr == 20);
		syms[nr - 1] = (Elf64_Sym){ 0 };
	}
}

/* A stripped file, whose functions are found through .eh_frame_hdr: each has the name "". */
static bool is_found_by_eh_frame_hdr(u32 nr)
{
	struct {
		struct made f;
		Elf64_Phdr eh;
		u8 head[4];
		u32 frame, nr;
		s32 first[2];
	} * file;
	size_t size = sizeof(*file) + 8ull * nr;
	auto_free void *bytes = file = xcalloc(1, size);
	auto_symbols struct symbols *s = NULL;
	auto_elf struct elf *e = NULL;
	u64 start;

	make(&file->f, &(Elf64_Sym){ 0 }, 0, strings, sizeof(strings));
	file->f.h.e_shnum = 0;
	file->f.h.e_phnum = 2;
	file->f.h.e_phoff = offsetof(typeof(*file), eh) - sizeof(file->f.p);
	memcpy((u8 *)file + file->f.h.e_phoff,
	       &(Elf64_Phdr){ .p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_vaddr = 0x1000,
			      .p_filesz = 0x1000,
			      .p_memsz = 0x1000 },
	       sizeof(Elf64_Phdr));
	file->eh = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME,
				 .p_offset = offsetof(typeof(*file), head),
				 .p_filesz = 12 + 8ull * nr };
	memcpy(file->head, (const u8[]){ 1, 0x1b, 3, 0x3b }, 4);
	file->nr = nr;
	file->first[0] = 0x1100;
	assert_int_equal(elf_open_memory(file, size, &e), 0);
	s = symbols_read(e, NULL, 0, 1 << 20);
	return symbols_find(s, 0x1100, &start);
}

static void a_search_table_with_too_many_functions_is_skipped(void **state)
{
	assert_true(is_found_by_eh_frame_hdr(EH_STARTS_MAX));
	assert_false(is_found_by_eh_frame_hdr(EH_STARTS_MAX + 1));
}

static void a_function_with_a_size_ends_there(void **state)
{
	const Elf64_Sym syms[] = { FUNC(0x1000, 0x10, 9, STB_GLOBAL) };

	assert_string_equal(name_at(syms, 1, 0xfff), "-");
	assert_string_equal(name_at(syms, 1, 0x1000), "a");
	assert_string_equal(name_at(syms, 1, 0x100f), "a");
	assert_string_equal(name_at(syms, 1, 0x1010), "-");
}

static void a_function_without_a_size_reaches_to_the_next_or_the_sections_end(void **state)
{
	const Elf64_Sym syms[] = { FUNC(0x1000, 0, 9, STB_GLOBAL), LABEL(0x1100, 11) };

	assert_string_equal(name_at(syms, 2, 0x10ff), "a");
	assert_string_equal(name_at(syms, 2, 0x1100), "_b");
	assert_string_equal(name_at(syms, 2, 0x17ff), "_b");
	assert_string_equal(name_at(syms, 2, 0x1800), "-");
}

static void the_inner_one_of_nested_functions_wins(void **state)
{
	const Elf64_Sym syms[] = { FUNC(0x1000, 0x100, 9, STB_GLOBAL),
				   FUNC(0x1040, 0x20, 11, STB_LOCAL), LABEL(0x1080, 14) };

	assert_string_equal(name_at(syms, 3, 0x103f), "a");
	assert_string_equal(name_at(syms, 3, 0x1040), "_b");
	assert_string_equal(name_at(syms, 3, 0x1060), "a");
	assert_string_equal(name_at(syms, 3, 0x1090), "a");
}

static void the_exported_and_plainest_name_of_an_address_wins(void **state)
{
	const Elf64_Sym locals[] = { FUNC(0x1000, 0x10, 9, STB_LOCAL),
				     FUNC(0x1000, 0x10, 14, STB_GLOBAL) };
	const Elf64_Sym bars[] = { FUNC(0x1000, 0x10, 11, STB_GLOBAL),
				   FUNC(0x1000, 0x10, 21, STB_WEAK),
				   FUNC(0x1000, 0x10, 14, STB_GLOBAL) };
	const Elf64_Sym lengths[] = { FUNC(0x1000, 0x10, 21, STB_GLOBAL),
				      FUNC(0x1000, 0x10, 9, STB_GLOBAL) };

	assert_string_equal(name_at(locals, 2, 0x1000), "__c");
	assert_string_equal(name_at(bars, 3, 0x1000), "dd");
	assert_string_equal(name_at(lengths, 2, 0x1000), "a");
}

static void resolvers_mapping_symbols_and_data_are_not_functions(void **state)
{
	Elf64_Sym syms[] = { FUNC(0x1000, 0x10, 9, STB_GLOBAL), LABEL(0x1020, 18),
			     FUNC(0x1040, 0x10, 11, STB_GLOBAL),
			     FUNC(0x3000, 0x10, 14, STB_GLOBAL) };

	syms[0].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
	syms[2].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	assert_string_equal(name_at(syms, 4, 0x1000), "-");
	assert_string_equal(name_at(syms, 4, 0x1020), "-");
	assert_string_equal(name_at(syms, 4, 0x1040), "-");
	assert_string_equal(name_at(syms, 4, 0x3000), "-");
}

/* Compares with the rules applied to every address. */
static void random_symbols_agree_with_the_rules(void **state)
{
	srand(17);
	for (int round = 0; round < 503; round++) {
		Elf64_Sym syms[32];
		for (size_t i = 0; i < 16; i++)
			syms[i] = (Elf64_Sym)FUNC(0x1000 + (u64)rand() % 64, 1 + (u64)rand() % 40,
						  9, STB_GLOBAL);
		u64 addr = 0x1000 + (u64)rand() % 128;
		bool is_covered = false;
		for (size_t i = 0; i < 16; i++)
			is_covered |= addr - syms[i].st_value < syms[i].st_size;
		assert_string_equal(name_at(syms, 16, addr), is_covered ? "a" : "-");
	}
}

static void a_table_above_its_limit_is_skipped(void **state)
{
	auto_close int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	auto_elf struct elf *e = NULL;

	assert_int_equal(elf_open_fd(fd, &e), 0);
	struct symbols *s = symbols_read(e, NULL, 0, 100);
	assert_in_range(symbols_bytes(s), 0, 300);
	symbols_free(s);
	s = symbols_read(e, NULL, 0, 32768);
	assert_in_range(symbols_bytes(s), 0, 3 * 32768);
	symbols_free(s);
}

static const char *find_in(const char *path, u64 vaddr, u64 *start)
{
	static char name[256];
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_elf struct elf *e = NULL;

	assert_int_equal(elf_open_fd(fd, &e), 0);
	auto_symbols struct symbols *s = symbols_read(e, NULL, 0, 1 << 20);
	const char *found = symbols_find(s, vaddr, start);
	snprintf(name, sizeof(name), "%s", found ? found : "-");
	return name;
}

/*
 * The fuzzer's seeds contain `local` and `work` of one small source. nm and readelf -wF show their
 * addresses.
 */
static void a_32_bit_file_is_named(void **state)
{
	u64 start;

	assert_string_equal(find_in("tests/fuzz/corpus/elf/elf32", 0x209, &start), "work");
	assert_int_equal(start, 0x209);
}

static void a_stripped_file_has_the_starts_of_its_functions(void **state)
{
	auto_close int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
	auto_elf struct elf *e = NULL;
	u64 start, first = 0;

	assert_int_equal(elf_open_fd(fd, &e), 0);
	auto_symbols struct symbols *s = symbols_read(e, NULL, 0, 1 << 20);
	const struct elf_section *text = elf_section_find(e, ".text");
	u64 middle = text->vaddr + text->size / 2;
	const char *name = symbols_find(s, middle, &first);
	assert_non_null(name);
	assert_string_equal(name, "");
	assert_in_range(first, text->vaddr, middle);
	assert_non_null(symbols_find(s, first, &start));
	assert_int_equal(start, first);
	u64 before = first - 1;
	/* Between functions there is nothing but filling. */
	while (!symbols_find(s, before, &start))
		before--;
	assert_in_range(before, first - 64, first - 1);
	assert_in_range(start, text->vaddr, before);
}

static void use_all(const void *data, size_t len)
{
	auto_elf struct elf *e = NULL;
	void *inner;
	size_t inner_len;
	u64 start;

	if (elf_open_memory(data, len, &e))
		return;
	struct symbols *s = symbols_read(e, NULL, 0, 1 << 20);
	for (u64 vaddr = 0; vaddr < 0x8000; vaddr += 61) {
		const char *name = symbols_find(s, vaddr, &start);
		assert_true(!name || strlen(name) <= 4096);
	}
	symbols_free(s);
	if (!debugfile_embedded(e, &inner, &inner_len))
		free(inner);
}

static u8 *small_file(size_t *len)
{
	char *data;

	assert_int_equal(file_read("/bin/true", 1 << 20, &data, len), 0);
	return (u8 *)data;
}

static void a_truncated_file_gives_fewer_names(void **state)
{
	size_t len;
	auto_free u8 *data = small_file(&len);

	for (size_t cut = 0; cut < len; cut += 97) {
		auto_free u8 *copy = xmemdup(data, cut + 1);
		use_all(copy, cut);
	}
}

static void a_file_with_flipped_bits_does_no_harm(void **state)
{
	size_t len;
	auto_free u8 *data = small_file(&len);

	srand(23);
	for (int round = 0; round < 1009; round++) {
		size_t at = (size_t)rand() % len;
		u8 old = data[at];
		if (round % 2)
			at = round % 4 == 1 ? (size_t)rand() % 4096 : len - 1 - at % 2048;
		old = data[at];
		data[at] ^= (u8)(1 << rand() % 8);
		use_all(data, len);
		if (round % 3)
			data[at] = old;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_function_is_named_as_libelf_names_it),
		cmocka_unit_test(a_table_with_far_too_many_symbols_is_skipped),
		cmocka_unit_test(a_search_table_with_too_many_functions_is_skipped),
		cmocka_unit_test(a_function_with_a_size_ends_there),
		cmocka_unit_test(a_function_without_a_size_reaches_to_the_next_or_the_sections_end),
		cmocka_unit_test(the_inner_one_of_nested_functions_wins),
		cmocka_unit_test(the_exported_and_plainest_name_of_an_address_wins),
		cmocka_unit_test(resolvers_mapping_symbols_and_data_are_not_functions),
		cmocka_unit_test(random_symbols_agree_with_the_rules),
		cmocka_unit_test(a_table_above_its_limit_is_skipped),
		cmocka_unit_test(a_32_bit_file_is_named),
		cmocka_unit_test(a_stripped_file_has_the_starts_of_its_functions),
		cmocka_unit_test(a_truncated_file_gives_fewer_names),
		cmocka_unit_test(a_file_with_flipped_bits_does_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
