/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of stripped libraries by .eh_frame and exported symbols. The test builds them. */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "elf/symbols.h"

#define LEN "\t.skip 64, 0x90\n"

/* Functions of 64 bytes, and 64 bytes of code that nothing describes between some of them. */
static const char source[] =
	"\t.text\n"
	"first:\n\t.cfi_startproc\n" LEN "\t.cfi_endproc\n" /* local */
	"\t.globl exported\n\t.type exported,@function\n"
	"exported:\n\t.cfi_startproc\n" LEN "\t.cfi_endproc\n\t.size exported,64\n"
	"local:\n\t.cfi_startproc\n" LEN "\t.cfi_endproc\n"
	"gap:\n" LEN /* no bounds */
	"\t.globl sized_short\n\t.type sized_short,@function\n"
	"sized_short:\n\t.cfi_startproc\n\t.skip 16, 0x90\n\t.size sized_short,16\n"
	"short_rest:\n\t.skip 48, 0x90\n\t.cfi_endproc\n"
	"\t.globl no_size\n\t.type no_size,@function\n"
	"no_size:\n\t.cfi_startproc\n" LEN "\t.cfi_endproc\n"
	"behind:\n" LEN "outer:\n\t.cfi_startproc\n\t.skip 16, 0x90\n" /* an entry in the middle */
	"\t.globl entry\n\t.type entry,@function\n"
	"entry:\n\t.skip 16, 0x90\n\t.size entry,16\n"
	"outer_rest:\n\t.skip 32, 0x90\n\t.cfi_endproc\n"
	"\t.globl unknown_end\n\t.type unknown_end,@function\n"
	"unknown_end:\n" LEN "last:\n\t.cfi_startproc\n" LEN "\t.cfi_endproc\n"
	"\t.section .note.GNU-stack,\"\",@progbits\n";

static bool runs(const char *command)
{
	return system(command) == 0;
}

static int enter_folder(void **state)
{
	static char folder[64];

	snprintf(folder, sizeof(folder), "/tmp/sysflame-bounds.XXXXXX");
	if (!mkdtemp(folder) || chdir(folder))
		return -1;
	FILE *f = fopen("x.s", "we");
	fputs(source, f);
	fclose(f);
	*state = folder;
	return runs("gcc -shared -nostdlib -Wl,--build-id=sha1 -o x.so x.s && nm x.so >names && "
		    "strip -s -o stripped.so x.so")
		       ? 0
		       : -1;
}

static int leave_folder(void **state)
{
	auto_free char *command = xasprintf("rm -rf %s", (char *)*state);

	return chdir("/") || system(command);
}

/* The address of a label of the source. */
static u64 at(const char *label)
{
	auto_fclose FILE *f = fopen("names", "re");
	unsigned long long vaddr;
	char line[128], name[64], type;

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %c %63s", &vaddr, &type, name) == 3 && !strcmp(name, label))
			return vaddr;
	fail_msg("no label %s", label);
	return 0;
}

static struct symbols *stripped(void)
{
	auto_close int fd = open("stripped.so", O_RDONLY | O_CLOEXEC);
	auto_elf struct elf *e = NULL;

	assert_int_equal(elf_open_fd(fd, &e), 0);
	return symbols_read(e, NULL, 0, 1 << 20);
}

static void assert_covers(const struct symbols *s, u64 start, u64 len, const char *name)
{
	u64 found;

	for (u64 vaddr = start; vaddr < start + len; vaddr++) {
		assert_string_equal(symbols_find(s, vaddr, &found), name);
		assert_false(symbols_is_guess(s, symbols_find(s, vaddr, &found)));
	}
}

static void assert_guessed(const struct symbols *s, u64 start, u64 len, const char *name)
{
	u64 found;

	for (u64 vaddr = start; vaddr < start + len; vaddr++) {
		assert_string_equal(symbols_find(s, vaddr, &found), name);
		assert_true(symbols_is_guess(s, symbols_find(s, vaddr, &found)));
	}
}

/* [start, start + len) is a nameless function, or a part of it, that begins at `function`. */
static void assert_nameless(const struct symbols *s, u64 start, u64 len, u64 function)
{
	u64 found;

	for (u64 vaddr = start; vaddr < start + len; vaddr++) {
		assert_string_equal(symbols_find(s, vaddr, &found), "");
		assert_int_equal(found, function);
	}
}

static void a_local_function_between_exported_ones_has_its_own_bounds(void **state)
{
	auto_symbols struct symbols *s = stripped();

	assert_nameless(s, at("first"), 64, at("first"));
	assert_covers(s, at("exported"), 64, "exported");
	assert_nameless(s, at("local"), 64, at("local"));
	assert_nameless(s, at("last"), 64, at("last"));
}

static void code_in_no_function_is_one_piece(void **state)
{
	auto_symbols struct symbols *s = stripped();
	u64 start, end, gap = at("gap");

	for (u64 vaddr = gap; vaddr < gap + 64; vaddr++) {
		assert_null(symbols_find(s, vaddr, &start));
		assert_true(symbols_gap(s, vaddr, &start, &end));
		assert_int_equal(start, gap);
		assert_int_equal(end, gap + 64);
	}
	assert_false(symbols_gap(s, at("local"), &start, &end));
	assert_false(symbols_gap(s, 0, &start, &end));
	assert_false(symbols_gap(s, at("last") + (1 << 20), &start, &end));
}

static void the_rest_of_a_function_behind_its_symbol_has_an_inferred_name(void **state)
{
	auto_symbols struct symbols *s = stripped();

	assert_covers(s, at("sized_short"), 16, "sized_short");
	assert_guessed(s, at("short_rest"), 48, "sized_short");
}

static void a_symbol_without_a_size_gets_the_bounds_of_its_function(void **state)
{
	auto_symbols struct symbols *s = stripped();
	u64 start;

	assert_covers(s, at("no_size"), 64, "no_size");
	assert_null(symbols_find(s, at("behind"), &start));
}

static void both_parts_around_an_entry_are_one_function(void **state)
{
	auto_symbols struct symbols *s = stripped();

	assert_nameless(s, at("outer"), 16, at("outer"));
	assert_covers(s, at("entry"), 16, "entry");
	assert_nameless(s, at("outer_rest"), 32, at("outer"));
}

static void a_symbol_without_size_and_bounds_names_what_follows_as_inferred(void **state)
{
	auto_symbols struct symbols *s = stripped();

	assert_guessed(s, at("unknown_end"), 64, "unknown_end");
}

static int collect(void *ctx, const void *bytes, size_t len)
{
	str_add_bytes(ctx, bytes, len);
	return 0;
}

static void the_encoded_table_is_the_same(void **state)
{
	auto_symbols struct symbols *s = stripped(), *copy = NULL;
	struct str bytes = { 0 };
	u64 start, end, same_start, same_end;

	assert_int_equal(symbols_encode(s, collect, &bytes), 0);
	size_t len = bytes.len;
	void *encoded = str_take(&bytes);
	assert_int_equal(symbols_decode(&encoded, len, &copy), 0);
	for (u64 vaddr = at("first"); vaddr < at("last") + 64; vaddr++) {
		const char *name = symbols_find(s, vaddr, &start);
		const char *same = symbols_find(copy, vaddr, &same_start);
		assert_int_equal(!name, !same);
		if (!name) {
			assert_true(symbols_gap(s, vaddr, &start, &end));
			assert_true(symbols_gap(copy, vaddr, &same_start, &same_end));
			assert_int_equal(end, same_end);
		} else {
			assert_string_equal(name, same);
			assert_int_equal(symbols_is_guess(s, name), symbols_is_guess(copy, same));
		}
		assert_int_equal(start, same_start);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)
		TEST(a_local_function_between_exported_ones_has_its_own_bounds),
		TEST(code_in_no_function_is_one_piece),
		TEST(the_rest_of_a_function_behind_its_symbol_has_an_inferred_name),
		TEST(a_symbol_without_a_size_gets_the_bounds_of_its_function),
		TEST(both_parts_around_an_entry_are_one_function),
		TEST(a_symbol_without_size_and_bounds_names_what_follows_as_inferred),
		TEST(the_encoded_table_is_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
