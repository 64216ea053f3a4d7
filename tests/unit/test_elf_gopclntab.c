/* SPDX-License-Identifier: Apache-2.0 */
#include "cfi_bytes.h"

#include <errno.h>
#include <stdlib.h>

#include "elf/gopclntab.h"
#include "elf/symbols.h"
#include "go_program.h"

/* Positions of a table's parts, with room for four functions. */
#define NAMES       0x100
#define FRAME_SIZES 0x180
#define FUNCTAB     0x200
#define FUNCTION(i) (0x280 + 0x40 * (i)) /* from the table's beginning */
#define TABLE_LEN   0x3c0

static struct go_program file; /* too large for the stack */

struct made_function {
	const char *name;
	u32 start;
};

static const struct made_function functions[] = {
	{ "main.work", 0 },
	{ "runtime.goexit", 0x40 },
	{ "runtime.systemstack", 0x50 },
	{ "runtime.sigreturn", 0x80 },
};
#define TEXT_LEN 0x90

/* Of all functions: 0 bytes, from 4 bytes of code on 24, from 0x3c on 0 again. */
static const u8 frame_sizes[] = { 2, 4, 48, 0x38, 47, 4, 0 };

static void poke(u8 *table, u32 at, u64 value, size_t len)
{
	memcpy(table + at, &value, len);
}

/* Writes a table as Go `minor` writes it. `text` is the header's address of the first function. */
static void make_table(u8 table[TABLE_LEN], u32 minor, u64 text)
{
	bool has_offsets = minor >= 16, is_short = minor >= 18;
	u32 header = is_short ? 32 : 24, size = is_short ? 4 : 8, name = NAMES;
	u32 functab = has_offsets ? FUNCTAB : 16;

	memset(table, 0, TABLE_LEN);
	poke(table, 0,
	     minor >= 20   ? 0xfffffff1
	     : is_short    ? 0xfffffff0
	     : has_offsets ? 0xfffffffa
			   : 0xfffffffb,
	     4);
	poke(table, 6, 1, 1);
	poke(table, 7, 8, 1);
	poke(table, 8, ARRAY_SIZE(functions), 8);
	if (is_short)
		poke(table, 24, text, 8);
	if (has_offsets) {
		poke(table, header, NAMES, 8);
		poke(table, header + 24, FRAME_SIZES, 8);
		poke(table, header + 32, FUNCTAB, 8);
	}
	memcpy(table + FRAME_SIZES, frame_sizes, sizeof(frame_sizes));
	for (u32 i = 0; i < ARRAY_SIZE(functions); i++) {
		u32 at = FUNCTION(i), from = has_offsets ? 0 : NAMES;
		u64 start = functions[i].start + (is_short ? 0 : GO_TEXT);
		poke(table, functab + 2 * i * size, start, size);
		poke(table, functab + (2 * i + 1) * size, has_offsets ? at - FUNCTAB : at, size);
		poke(table, at, start, size);
		poke(table, at + size, name - NAMES + from, 4);
		poke(table, at + size + 12, has_offsets ? 0 : FRAME_SIZES, 4);
		strcpy((char *)table + name, functions[i].name);
		name += (u32)strlen(functions[i].name) + 1;
	}
	poke(table, functab + 2 * ARRAY_SIZE(functions) * size, TEXT_LEN + (is_short ? 0 : GO_TEXT),
	     size);
}

static struct elf *opened(void)
{
	struct elf *e;

	assert_int_equal(elf_open_memory(&file, sizeof(file), &e), 0);
	return e;
}

static int read_error(void)
{
	auto_elf struct elf *e = opened();
	auto_gopclntab struct gopclntab *t = NULL;

	return gopclntab_read(e, &t);
}

static void assert_rows(const struct elf *e)
{
	struct rows rows;

	assert_int_equal(rows_build(e, &rows), 0);
	assert_int_equal(rows.nr_malformed + rows.nr_unknown_ops, 0);
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, { 0x1004, 4, ROW_SP, -2 },
		    { 0x103c, 1, ROW_SP, 0 }, { 0x1040, 0, ROW_END, 0 },
		    { 0x1050, 2, ROW_SWITCH, -2 }, { 0x107f, 0, ROW_SIGNAL, 0 },
		    { 0x1000 + TEXT_LEN, 0, ROW_NONE, 0 });
}

static void assert_names(const struct elf *e)
{
	auto_symbols struct symbols *s = symbols_read(e, NULL, 0, 1 << 20);
	u64 start;

	for (u32 i = 0; i < ARRAY_SIZE(functions); i++) {
		u32 end = i + 1 < ARRAY_SIZE(functions) ? functions[i + 1].start : TEXT_LEN;
		assert_string_equal(symbols_find(s, GO_TEXT + end - 1, &start), functions[i].name);
		assert_int_equal(start, GO_TEXT + functions[i].start);
	}
	assert_null(symbols_find(s, GO_TEXT + TEXT_LEN, &start));
}

static void assert_is_read(void)
{
	auto_elf struct elf *e = opened();

	assert_names(e);
	assert_rows(e);
}

static void functions_of_every_version_have_names_and_rows(void **state)
{
	static const u32 versions[] = { 15, 16, 18, 20 };
	u8 table[TABLE_LEN];

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		make_table(table, versions[i], GO_TEXT);
		go_program_make(&file, ".gopclntab", table, sizeof(table));
		assert_is_read();
	}
}

/* Position-independent programs that a C compiler linked. */
static void a_table_inside_another_section_is_found(void **state)
{
	u8 data[0x40 + TABLE_LEN] = { 0 };

	make_table(data + 0x40, 20, GO_TEXT);
	go_program_make(&file, ".data.rel.ro", data, sizeof(data));
	assert_int_equal(read_error(), -ENOENT);
	go_program_add(&file, ".go.buildinfo", SHT_PROGBITS, GO_MODULE, 8);
	assert_is_read();
}

static void the_first_function_is_found_by_a_relocation(void **state)
{
	const Elf64_Rela relocation = { GO_TABLE + 24, ELF64_R_INFO(0, R_X86_64_RELATIVE),
					GO_TEXT };
	u8 table[TABLE_LEN];

	make_table(table, 20, 0);
	go_program_make(&file, ".data.rel.ro.gopclntab", table, sizeof(table));
	assert_int_equal(read_error(), -ENOTSUP);
	memcpy(go_program_at(&file, GO_RELA), &relocation, sizeof(relocation));
	go_program_add(&file, ".rela", SHT_RELA, GO_RELA, sizeof(relocation));
	assert_is_read();
}

/* As Go 1.26 and newer write it. */
static void the_first_function_is_found_by_the_description_of_the_module(void **state)
{
	u8 table[TABLE_LEN];

	make_table(table, 20, 0);
	go_program_make(&file, ".gopclntab", table, sizeof(table));
	go_program_add(&file, ".go.module", SHT_PROGBITS, GO_MODULE, 256);
	assert_int_equal(read_error(), -ENOTSUP);
	poke(go_program_at(&file, GO_MODULE), 176, GO_TEXT, 8);
	assert_int_equal(read_error(), -ENOTSUP); /* it is that of another table */
	poke(go_program_at(&file, GO_MODULE), 0, GO_TABLE, 8);
	assert_is_read();
}

static void other_and_damaged_tables_are_refused(void **state)
{
	u8 table[TABLE_LEN];

	make_table(table, 20, GO_TEXT);
	go_program_make(&file, ".text", table, sizeof(table));
	assert_int_equal(read_error(), -ENOENT);
	for (size_t len = 0; len < FUNCTAB; len += 8) {
		go_program_make(&file, ".gopclntab", table, len);
		assert_true(read_error() < 0);
	}
	poke(table, 0, 0xfffffff5, 4);
	go_program_make(&file, ".gopclntab", table, sizeof(table));
	assert_int_equal(read_error(), -ENOTSUP);
	make_table(table, 20, GO_TEXT);
	poke(table, 8, GOPCLNTAB_FUNCTIONS_MAX + 1ull, 8);
	go_program_make(&file, ".gopclntab", table, sizeof(table));
	assert_int_equal(read_error(), -EFBIG);
	poke(table, 8, 1000, 8);
	go_program_make(&file, ".gopclntab", table, sizeof(table));
	assert_int_equal(read_error(), -EBADMSG);
}

/* The first function loses its rows, not the others. */
static void a_damaged_list_of_frame_sizes_takes_its_functions_rows(void **state)
{
	static const u8 damaged[][6] = {
		{ 1, 4 },                            /* -2 bytes */
		{ 2, 0 },                            /* no code */
		{ 0xff, 0xff, 0xff, 0xff, 0xff, 1 }, /* more than 32 bits */
	};
	u8 table[TABLE_LEN];

	for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
		auto_rows struct rows rows = { 0 };
		make_table(table, 20, GO_TEXT);
		memcpy(table + FRAME_SIZES, damaged[i], sizeof(damaged[i]));
		go_program_make(&file, ".gopclntab", table, sizeof(table));
		auto_elf struct elf *e = opened();
		assert_int_equal(rows_build(e, &rows), 0);
		assert_int_equal(rows.at[0].pc, 0x1040);
		assert_int_equal(rows.nr_malformed, 0);
	}
}

/* gogo switches to another stack by loading sp. No frame of that stack has called it. */
static void gogo_is_outermost_behind_its_load_of_sp(void **state)
{
	static const u8 load[] = { 0x48, 0x8b, 0x23 };
	auto_elf struct elf *e = NULL;
	auto_rows struct rows rows = { 0 };
	u8 table[TABLE_LEN];

	make_table(table, 20, GO_TEXT);
	strcpy((char *)table + NAMES, "gogo");
	go_program_make(&file, ".gopclntab", table, sizeof(table));
	memcpy(go_program_at(&file, GO_TEXT + 0x3c), load, sizeof(load));
	e = opened();
	assert_int_equal(rows_build(e, &rows), 0);
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, { 0x1004, 4, ROW_SP, -2 },
		    { 0x103c, 1, ROW_SP, 0 }, { 0x103f, 0, ROW_END, 0 },
		    { 0x1050, 2, ROW_SWITCH, -2 }, { 0x107f, 0, ROW_SIGNAL, 0 },
		    { 0x1000 + TEXT_LEN, 0, ROW_NONE, 0 });
}

/* 8,000 functions share 2,000 frame sizes, which would take 150 MB. */
static void a_list_that_many_functions_share_is_refused(void **state)
{
	const u32 nr = 8000, nr_sizes = 2000, functab = 0x2000, function = functab + 8 * nr + 8;
	auto_elf struct elf *e = NULL;
	static u8 table[GO_MOST];
	void *bytes;
	size_t len;

	make_table(table, 20, GO_TEXT);
	poke(table, 8, nr, 8);
	poke(table, 56, 0x400, 8);
	poke(table, 64, functab, 8);
	for (u32 i = 0; i <= nr; i++) {
		poke(table, functab + 8 * i, nr_sizes * i, 4);
		poke(table, functab + 8 * i + 4, function - functab, 4);
	}
	memset(table + function, 0, 64);
	for (u32 i = 0; i < nr_sizes; i++) {
		table[0x400 + 2 * i] = !i ? 18 : i % 2 ? 15 : 16; /* 8 bytes, 0, 8, .. */
		table[0x400 + 2 * i + 1] = 1;
	}
	go_program_make(&file, ".gopclntab", table, sizeof(table));
	e = opened();
	assert_int_equal(go_cfi_make(e, &bytes, &len), -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_every_version_have_names_and_rows),
		cmocka_unit_test(a_table_inside_another_section_is_found),
		cmocka_unit_test(the_first_function_is_found_by_a_relocation),
		cmocka_unit_test(the_first_function_is_found_by_the_description_of_the_module),
		cmocka_unit_test(other_and_damaged_tables_are_refused),
		cmocka_unit_test(a_damaged_list_of_frame_sizes_takes_its_functions_rows),
		cmocka_unit_test(gogo_is_outermost_behind_its_load_of_sp),
		cmocka_unit_test(a_list_that_many_functions_share_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
