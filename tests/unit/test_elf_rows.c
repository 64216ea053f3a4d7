/* SPDX-License-Identifier: Apache-2.0 */
/* From entries to a table: selection of entries, gaps, overlaps, images in memory. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>

#include "cfi_bytes.h"

#include "elf/elf.h"

#define PUSHED 0x41, 0x0e, 16 /* CFA = rsp + 16 after one byte */

static void adjacent_equal_rules_are_one_row(void **state)
{
	struct cfi_bytes b = { .nr = 0 };
	struct rows rows = { 0 };
	u32 cie = put_cie(&b);

	put_fde(&b, cie, 0x1000, 16, BYTES(PUSHED, 0x42, 0x0e, 8));
	put_fde(&b, cie, 0x1010, 16, BYTES(PUSHED));
	assert_int_equal(compile_bytes(&b, &rows), 0);
	assert_int_equal(rows.nr_fdes, 2);
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, { 0x1001, 2, ROW_SP, 0 },
		    { 0x1003, 1, ROW_SP, 0 }, { 0x1011, 2, ROW_SP, 0 }, { 0x1020, 0, ROW_NONE, 0 });
}

static void functions_may_come_in_any_order(void **state)
{
	struct cfi_bytes b = { .nr = 0 };
	struct rows rows = { 0 };
	u32 cie = put_cie(&b);

	put_fde(&b, cie, 0x2000, 16, BYTES(PUSHED));
	put_fde(&b, cie, 0x1000, 16, BYTES(0x0e, 24));
	assert_int_equal(compile_bytes(&b, &rows), 0);
	EXPECT_ROWS(&rows, { 0x1000, 3, ROW_SP, 0 }, { 0x1010, 0, ROW_NONE, 0 },
		    { 0x2000, 1, ROW_SP, 0 }, { 0x2001, 2, ROW_SP, 0 }, { 0x2010, 0, ROW_NONE, 0 });
}

static void a_gap_of_16_bytes_has_a_row_and_a_shorter_one_does_not(void **state)
{
	struct cfi_bytes b = { .nr = 0 };
	struct rows rows = { 0 };
	u32 cie = put_cie(&b);

	put_fde(&b, cie, 0x1000, 1, BYTES(0x0e, 24));
	put_fde(&b, cie, 0x1010, 1, BYTES(0));
	put_fde(&b, cie, 0x1021, 1, BYTES(0));
	assert_int_equal(compile_bytes(&b, &rows), 0);
	EXPECT_ROWS(&rows, { 0x1000, 3, ROW_SP, 0 }, { 0x1010, 1, ROW_SP, 0 },
		    { 0x1011, 0, ROW_NONE, 0 }, { 0x1021, 1, ROW_SP, 0 },
		    { 0x1022, 0, ROW_NONE, 0 });
}

static void an_entry_point_outside_of_functions_is_the_root(void **state)
{
	struct cfi_bytes b = { .nr = 0 };
	u32 cie = put_cie(&b);

	put_fde(&b, cie, 0x1000, 1, BYTES(0x0e, 24));
	put_fde(&b, cie, 0x1041, 1, BYTES(0));
	for (u32 entry = 0x1000; entry <= 0x1001; entry++) {
		struct rows rows = { 0 };
		b.entry = entry;
		assert_int_equal(compile_bytes(&b, &rows), 0);
		EXPECT_ROWS(&rows, { 0x1000, 3, ROW_SP, 0 },
			    { 0x1001, 0, entry == 0x1001 ? ROW_ENTRY : ROW_NONE, 0 },
			    { 0x1041, 1, ROW_SP, 0 }, { 0x1042, 0, ROW_NONE, 0 });
	}
}

static void the_row_of_an_entry_point_does_not_cover_the_code_behind_it(void **state)
{
	static const u32 entries[] = { 0xf00, 0x1001, 0x2001 };

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		struct cfi_bytes b = { .entry = entries[i] };
		struct rows rows = { 0 };
		u32 entry = entries[i], cie = put_cie(&b);

		put_fde(&b, cie, 0x1000, 1, BYTES(0));
		put_fde(&b, cie, 0x2000, 1, BYTES(0));
		assert_int_equal(compile_bytes(&b, &rows), 0);
		u32 at = 0;
		while (at < rows.nr && rows.at[at].pc != entry)
			at++;
		assert_true(at + 1 < rows.nr);
		assert_int_equal(rows.at[at].kind, ROW_ENTRY);
		assert_int_equal(rows.at[at + 1].kind, ROW_NONE);
		assert_int_equal(rows.at[at + 1].pc, entry + ROWS_ENTRY_BYTES);
		assert_true(rows_are_valid(rows.at, rows.nr));
		rows_fini(&rows);
	}
}

static void the_row_of_an_outermost_function_ends_with_it(void **state)
{
	struct cfi_bytes b = { .nr = 0 };
	struct rows rows = { 0 };
	u32 cie = put_cie(&b);

	put_fde(&b, cie, 0x1000, 8, BYTES(0x07, 16));
	put_fde(&b, cie, 0x1009, 7, BYTES(0x07, 16));
	put_fde(&b, cie, 0x1010, 8, BYTES(0));
	assert_int_equal(compile_bytes(&b, &rows), 0);
	EXPECT_ROWS(&rows, { 0x1000, 0, ROW_END, 0 }, { 0x1008, 0, ROW_NONE, 0 },
		    { 0x1009, 0, ROW_END, 0 }, { 0x1010, 1, ROW_SP, 0 },
		    { 0x1018, 0, ROW_NONE, 0 });
}

static void a_return_address_in_a_register_has_a_row(void **state)
{
	struct cfi_bytes b = { .nr = 0 };
	struct rows rows = { 0 };
	u32 cie = put_cie(&b);

	put_fde(&b, cie, 0x1000, 16, BYTES(0x0e, 0, 0x09, 16, 5, 0x42, 0x0e, 8, 0x09, 16, 9));
	assert_int_equal(compile_bytes(&b, &rows), 0);
	EXPECT_ROWS(&rows, { 0x1000, 5 << ROW_REGISTER_SHIFT, ROW_IN_REGISTER, 0 },
		    { 0x1002, 0, ROW_UNSUPPORTED, 0 }, /* r9 is not kept */
		    { 0x1010, 0, ROW_NONE, 0 });
}

static void a_function_ends_where_the_next_one_starts(void **state)
{
	struct cfi_bytes b = { .nr = 0 };
	struct rows rows = { 0 };
	u32 cie = put_cie(&b);

	put_fde(&b, cie, 0x1000, 0x100, BYTES(0x0e, 24, 0x60, 0x0e, 32));
	put_fde(&b, cie, 0x1010, 0x10, BYTES(0));
	put_fde(&b, cie, 0x1010, 0x80, BYTES(0x0e, 40));
	assert_int_equal(compile_bytes(&b, &rows), 0);
	EXPECT_ROWS(&rows, { 0x1000, 3, ROW_SP, 0 }, { 0x1010, 1, ROW_SP, 0 },
		    { 0x1020, 0, ROW_NONE, 0 });
}

static void functions_outside_the_image_are_skipped(void **state)
{
	struct cfi_bytes b = { .nr = 0 };
	struct rows rows = { 0 };
	u32 cie = put_cie(&b);

	put_fde(&b, cie, -TEST_BASE, 16, BYTES(0));      /* dropped by the linker */
	put_fde(&b, cie, (u32)-16, 16, BYTES(0));        /* below */
	put_fde(&b, cie, TEST_IMAGE, 16, BYTES(0));      /* above */
	put_fde(&b, cie, 0x1000, 0, BYTES(0));           /* empty */
	put_fde(&b, cie, TEST_IMAGE - 16, 99, BYTES(0)); /* reaches beyond the image */
	assert_int_equal(compile_bytes(&b, &rows), 0);
	assert_int_equal(rows.nr_malformed, 0);
	EXPECT_ROWS(&rows, { TEST_IMAGE - 16, 1, ROW_SP, 0 }, { TEST_IMAGE, 0, ROW_NONE, 0 });
}

static void an_entry_that_reaches_past_the_section_ends_it(void **state)
{
	struct cfi_bytes b = { .nr = 0 };
	struct rows rows = { 0 };
	u32 cie = put_cie(&b);

	put_fde(&b, cie, 0x1000, 16, BYTES(0));
	size_t whole = b.nr;
	put_fde(&b, cie, 0x1010, 16, BYTES(0x0e, 24));
	for (size_t end = b.nr - 1; end >= whole + 4; end--) {
		b.nr = end;
		assert_int_equal(compile_bytes(&b, &rows), 0);
		assert_int_equal(rows.nr_malformed, 1);
		EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, { 0x1010, 0, ROW_NONE, 0 });
	}
}

static void a_length_of_zero_ends_the_section(void **state)
{
	struct cfi_bytes b = { .nr = 0 };
	struct rows rows = { 0 };
	u32 cie = put_cie(&b);

	put_fde(&b, cie, 0x1000, 16, BYTES(0));
	put_u32(&b, 0);
	put_fde(&b, cie, 0x1010, 16, BYTES(0x0e, 24));
	assert_int_equal(compile_bytes(&b, &rows), 0);
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, { 0x1010, 0, ROW_NONE, 0 });
}

static void entries_of_unknown_kind_are_counted(void **state)
{
	static const u8 unknown_letter[] = { 1, 'z', 'Q', 0, 1, 0x78, 16, 0 };
	static const u8 no_z[] = { 1, 'R', 0, 1, 0x78, 16, 3 };
	static const u8 version[] = { 2, 0, 1, 0x78, 16 };
	static const u8 return_register[] = { 1, 0, 1, 0x78, 30 };
	static const u8 endless_letters[] = { 1, 'z', 'R' };
	struct cfi_bytes b = { .nr = 0 };
	struct rows rows = { 0 };

	put_entry(&b, 0, unknown_letter, sizeof(unknown_letter));
	put_entry(&b, 0, no_z, sizeof(no_z));
	put_entry(&b, 0, version, sizeof(version));
	put_entry(&b, 0, return_register, sizeof(return_register));
	u32 bad = put_entry(&b, 0, endless_letters, sizeof(endless_letters));
	put_fde(&b, bad, 0x1000, 16, BYTES(0));
	put_fde(&b, 3, 0x1000, 16, BYTES(0)); /* there is no CIE */
	put_fde(&b, put_cie(&b), 0x1000, 16, BYTES(0));
	assert_int_equal(compile_bytes(&b, &rows), 0);
	assert_int_equal(rows.nr_malformed, 7);
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, { 0x1010, 0, ROW_NONE, 0 });
}

static void personality_and_lsda_are_skipped(void **state)
{
	struct cfi_bytes b = { .nr = 0 };
	struct rows rows = { 0 };
	u32 cie = put_entry(&b, 0,
			    BYTES(3, 'z', 'P', 'L', 'R', 0, 1, 0x78, 16, 7, 0x9b, 9, 9, 9, 9, 0x1b,
				  0x03, 0x0c, 7, 8, 0x90, 1));

	put_fde(&b, cie, 0x1000, 16, BYTES(0));
	assert_int_equal(compile_bytes(&b, &rows), 0);
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, { 0x1010, 0, ROW_NONE, 0 });
}

/* Expects one function at 0x1000 of 16 bytes; `encoding` is that of its pointers. */
static void expect_encoding(u8 encoding, const u8 *start_and_len, size_t nr)
{
	struct cfi_bytes b = { .nr = 0 };
	struct rows rows = { 0 };
	u32 cie = put_entry(&b, 0,
			    BYTES(1, 'z', 'R', 0, 1, 0x78, 16, 1, encoding, 0x0c, 7, 8, 0x90, 1));
	struct cfi_bytes body = { .nr = 0 };

	put(&body, start_and_len, nr);
	put(&body, BYTES(0));
	put_entry(&b, (u32)b.nr + 4 - cie, body.at, body.nr);
	assert_int_equal(compile_bytes(&b, &rows), 0);
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, { 0x1010, 0, ROW_NONE, 0 });
}

static void every_pointer_encoding_is_read(void **state)
{
	/* compile_bytes puts the section at 0x480000. The FDE's start follows 30 bytes later. */
	expect_encoding(0x00, BYTES(0, 0x10, 0x40, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0));
	expect_encoding(0x01, BYTES(0x80, 0xa0, 0x80, 0x02, 16));
	expect_encoding(0x03, BYTES(0, 0x10, 0x40, 0, 16, 0, 0, 0));
	expect_encoding(0x04, BYTES(0, 0x10, 0x40, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0));
	expect_encoding(0x09, BYTES(0x80, 0xa0, 0x80, 0x02, 16));
	expect_encoding(0x0b, BYTES(0, 0x10, 0x40, 0, 16, 0, 0, 0));
	expect_encoding(0x0c, BYTES(0, 0x10, 0x40, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0));
	expect_encoding(0x1b, BYTES(0xe2, 0x0f, 0xf8, 0xff, 16, 0, 0, 0));
}

static void a_64_bit_length_is_read(void **state)
{
	struct cfi_bytes b = { .nr = 0 };
	struct rows rows = { 0 };

	put_u32(&b, UINT32_MAX);
	put(&b, BYTES(18, 0, 0, 0, 0, 0, 0, 0));
	put(&b, BYTES(0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x03, 0x0c, 7, 8, 0x90, 1));
	put_fde(&b, 0, 0x1000, 16, BYTES(0));
	assert_int_equal(compile_bytes(&b, &rows), 0);
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, { 0x1010, 0, ROW_NONE, 0 });
}

/* Appends a function of .debug_frame. Its pointers have 8 bytes, and its CIE is at 0. */
static void put_debug_fde(struct cfi_bytes *b, u64 start, u64 len)
{
	u64 range[] = { TEST_BASE + start, len };

	put_entry(b, 0, (const u8 *)range, sizeof(range));
}

static void eh_frame_hides_what_it_overlaps_of_debug_frame(void **state)
{
	struct cfi_bytes eh = { .nr = 0 }, debug = { .nr = 0 };
	struct rows rows = { 0 };

	put_fde(&eh, put_cie(&eh), 0x1000, 0x20, BYTES(0));
	put_entry(&debug, UINT32_MAX, BYTES(4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 24, 0x90, 1));
	put_debug_fde(&debug, 0xff0, 0x20);
	put_debug_fde(&debug, 0x1000, 0x20);
	put_debug_fde(&debug, 0x1010, 0x20);
	put_debug_fde(&debug, 0x1020, 0x10);
	const struct cfi_input input = {
		.sections = { { .data = eh.at, .size = eh.nr },
			      { .data = debug.at, .size = debug.nr, .is_debug_frame = true } },
		.nr = 2,
		.base = TEST_BASE,
		.size = TEST_IMAGE,
	};
	assert_int_equal(rows_compile(&input, &rows), 0);
	EXPECT_ROWS(&rows, { 0xff0, 3, ROW_SP, 0 }, { 0x1000, 1, ROW_SP, 0 },
		    { 0x1020, 3, ROW_SP, 0 }, { 0x1030, 0, ROW_NONE, 0 });
}

static void a_file_without_functions_gives_enodata(void **state)
{
	struct cfi_bytes b = { .nr = 0 };
	struct rows rows = { 0 };

	assert_int_equal(compile_bytes(&b, &rows), -ENODATA);
	put_cie(&b);
	assert_int_equal(compile_bytes(&b, &rows), -ENODATA);
}

static int read_memory(void *ctx, u64 addr, void *buf, size_t len)
{
	memcpy(buf, (const void *)addr, len);
	return 0;
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *ctx)
{
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	*(struct dl_phdr_info *)ctx = *info;
	return 1;
}

static void expect_same(const struct rows *a, const struct rows *b)
{
	assert_int_equal(a->base, b->base);
	assert_int_equal(a->nr, b->nr);
	assert_memory_equal(a->at, b->at, a->nr * sizeof(a->at[0]));
}

static void an_image_in_memory_has_the_rows_of_its_file(void **state)
{
	const struct image_memory own = { .read = read_memory };
	struct dl_phdr_info libc = { 0 };
	auto_rows struct rows image = { 0 }, file = { 0 };
	auto_elf struct elf *e = NULL;

	dl_iterate_phdr(find_libc, &libc);
	auto_close int fd = open(libc.dlpi_name, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_open_fd(fd, &e), 0);
	assert_int_equal(rows_build(e, &file), 0);
	assert_int_equal(rows_build_image(own, libc.dlpi_addr, &image), 0);
	expect_same(&image, &file);
}

static void the_vdso_has_rows(void **state)
{
	auto_rows struct rows rows = { 0 };

	assert_int_equal(rows_build_vdso(&rows), 0);
	assert_true(rows.nr > 2);
	assert_int_equal(rows.nr_malformed, 0);
}

struct short_memory {
	const u8 *at;
	size_t len;
};

static int read_short(void *ctx, u64 addr, void *buf, size_t len)
{
	const struct short_memory *m = ctx;

	if (addr > m->len || len > m->len - addr)
		return -EFAULT;
	memcpy(buf, m->at + addr, len);
	return 0;
}

/* Truncates the program at every length and damages every early byte: an error, no crash. */
static void a_damaged_image_gives_an_error(void **state)
{
	Elf64_Ehdr header = { .e_ident = ELFMAG,
			      .e_machine = EM_X86_64,
			      .e_phnum = 2,
			      .e_phoff = sizeof(header),
			      .e_phentsize = sizeof(Elf64_Phdr) };
	Elf64_Phdr load = { .p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = 200, .p_memsz = 200 };
	Elf64_Phdr hdr = { .p_type = PT_GNU_EH_FRAME, .p_vaddr = 0x1000, .p_filesz = 12 };
	u8 image[512] = { 0 };
	struct rows rows = { 0 };

	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	memcpy(image, &header, sizeof(header));
	memcpy(image + sizeof(header), &load, sizeof(load));
	memcpy(image + sizeof(header) + sizeof(load), &hdr, sizeof(hdr));
	for (size_t len = 0; len < sizeof(image); len += 8) {
		struct short_memory m = { image, len };
		assert_true(rows_build_image((struct image_memory){ read_short, &m }, 0, &rows) <
			    0);
	}
	for (size_t i = 0; i < 64 + 56 * 2; i++) {
		struct short_memory m = { image, sizeof(image) };
		image[i] ^= 0xff;
		assert_true(rows_build_image((struct image_memory){ read_short, &m }, 0, &rows) <
			    0);
		image[i] ^= 0xff;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adjacent_equal_rules_are_one_row),
		cmocka_unit_test(functions_may_come_in_any_order),
		cmocka_unit_test(a_gap_of_16_bytes_has_a_row_and_a_shorter_one_does_not),
		cmocka_unit_test(an_entry_point_outside_of_functions_is_the_root),
		cmocka_unit_test(the_row_of_an_entry_point_does_not_cover_the_code_behind_it),
		cmocka_unit_test(the_row_of_an_outermost_function_ends_with_it),
		cmocka_unit_test(a_return_address_in_a_register_has_a_row),
		cmocka_unit_test(a_function_ends_where_the_next_one_starts),
		cmocka_unit_test(functions_outside_the_image_are_skipped),
		cmocka_unit_test(an_entry_that_reaches_past_the_section_ends_it),
		cmocka_unit_test(a_length_of_zero_ends_the_section),
		cmocka_unit_test(entries_of_unknown_kind_are_counted),
		cmocka_unit_test(personality_and_lsda_are_skipped),
		cmocka_unit_test(every_pointer_encoding_is_read),
		cmocka_unit_test(a_64_bit_length_is_read),
		cmocka_unit_test(eh_frame_hides_what_it_overlaps_of_debug_frame),
		cmocka_unit_test(a_file_without_functions_gives_enodata),
		cmocka_unit_test(an_image_in_memory_has_the_rows_of_its_file),
		cmocka_unit_test(the_vdso_has_rows),
		cmocka_unit_test(a_damaged_image_gives_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
