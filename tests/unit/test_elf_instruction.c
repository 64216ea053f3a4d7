/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "elf/functions.h"
#include "elf/instruction.h"

#define SELF "/proc/self/exe"

static struct function function_of(const char *name)
{
	int fd = open(SELF, O_RDONLY | O_CLOEXEC);
	struct function f;

	assert_int_equal(functions_find(fd, &name, 1, &f, NULL), 0);
	assert_int_not_equal(f.file_off, 0);
	close(fd);
	return f;
}

static int begins_in(const char *path, u64 file_off)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err = instruction_begins(fd, file_off);

	close(fd);
	return err;
}

#ifdef __x86_64__

/* push; movabs whose immediate looks like instructions; mov; nop of 7 bytes; pop; ret */
__asm__(".pushsection .text\n"
	".globl known_instructions\n"
	".type known_instructions, @function\n"
	"known_instructions:\n"
	".cfi_startproc\n"
	".byte 0x55\n"
	".byte 0x48, 0xb8, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90\n"
	".byte 0x48, 0x89, 0xe5\n"
	".byte 0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00\n"
	".byte 0x5d\n"
	".byte 0xc3\n"
	".cfi_endproc\n"
	".size known_instructions, . - known_instructions\n"
	".popsection\n");

static bool is_begin(u64 off)
{
	static const u64 begins[] = { 0, 1, 11, 14, 21, 22 };

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (begins[i] == off)
			return true;
	return false;
}

static void only_the_start_of_an_instruction_may_be_probed(void **state)
{
	if (instruction_missing())
		skip_because("built without libcapstone");
	struct function f = function_of("known_instructions");
	assert_int_equal(f.size, 23);
	for (u64 off = 0; off < f.size; off++)
		assert_int_equal(begins_in(SELF, f.file_off + off), is_begin(off) ? 0 : -EILSEQ);
}

#else

static void only_the_start_of_an_instruction_may_be_probed(void **state)
{
	struct function f = function_of("main");

	for (u64 off = 0; off < 16; off++)
		assert_int_equal(begins_in(SELF, f.file_off + off), off % 4 ? -EILSEQ : 0);
}

#endif

static void data_has_no_instructions(void **state)
{
	assert_int_equal(begins_in(SELF, 0), -ENODATA);
	assert_int_equal(begins_in(SELF, 1ull << 60), -ENODATA);
	assert_int_equal(begins_in("/etc/passwd", 0), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_start_of_an_instruction_may_be_probed),
		cmocka_unit_test(data_has_no_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
