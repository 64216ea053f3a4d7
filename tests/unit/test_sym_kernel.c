/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "sym/kernel.h"

/* A file with that text. */
static int text_fd(const char *text, size_t len)
{
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, len), len);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static int parse(const char *text, struct kernel_syms **out)
{
	auto_close int fd = text_fd(text, strlen(text));

	return kernel_syms_read_fd(fd, out);
}

/* "NAME+OFFSET [MODULE]" */
static void assert_named(const struct kernel_syms *ks, u64 pc, const char *want)
{
	const char *module, *name;
	char got[256] = "-";
	u64 offset;

	name = kernel_syms_find(ks, pc, &module, &offset);
	if (name)
		snprintf(got, sizeof(got), "%s+%#lx [%s]", name, (unsigned long)offset, module);
	assert_string_equal(got, want);
}

static void an_address_is_named_by_the_symbol_before_it(void **state)
{
	auto_kernel_syms struct kernel_syms *ks = NULL;

	assert_int_equal(parse("ffffffff81000000 T first\n"
			       "ffffffff81000100 t second\n"
			       "ffffffff81000200 T _etext\n"
			       "ffffffff82000000 D some_data\n",
			       &ks),
			 0);
	assert_named(ks, 0xffffffff80ffffff, "-");
	assert_named(ks, 0xffffffff81000000, "first+0 []");
	assert_named(ks, 0xffffffff810000ff, "first+0xff []");
	assert_named(ks, 0xffffffff81000100, "second+0 []");
	assert_named(ks, 0xffffffff81000200, "-");
	assert_named(ks, 0xffffffff82000010, "-");
	assert_named(ks, 0x1000, "-");
}

static void the_most_readable_name_of_an_address_wins(void **state)
{
	auto_kernel_syms struct kernel_syms *ks = NULL;

	assert_int_equal(parse("ffffffff81000000 t a\n"
			       "ffffffff81000000 T __se_sys_read\n"
			       "ffffffff81000000 T _sys_read_long\n"
			       "ffffffff81000000 T _sys_read\n"
			       "ffffffff810000f0 t __pfx_next\n"
			       "ffffffff81000100 T next\n",
			       &ks),
			 0);
	assert_named(ks, 0xffffffff81000000, "_sys_read+0 []");
	assert_named(ks, 0xffffffff810000f5, "_sys_read+0xf5 []");
}

static void modules_and_bpf_programs_end_somewhere(void **state)
{
	auto_kernel_syms struct kernel_syms *ks = NULL;

	assert_int_equal(parse("ffffffff81000000 T core\n"
			       "ffffffff81000100 T _etext\n"
			       "ffffffffc0300000 t ext4_read\t[ext4]\n"
			       "ffffffffc0300400 d ext4_data\t[ext4]\n"
			       "ffffffffc0000000 t bpf_prog_6deef7357e7b4530_count\t[bpf]\n"
			       "ffffffffc0000100 t bpf_prog_f00f00f00f00f00f\t[bpf]\n",
			       &ks),
			 0);
	assert_named(ks, 0xffffffffc0300010, "ext4_read+0x10 [ext4]");
	assert_named(ks, 0xffffffffc0300410, "-");
	assert_named(ks, 0xffffffffc0000010, "bpf_prog_6deef7357e7b4530_count+0x10 [bpf]");
	assert_named(ks, 0xffffffffc0000110, "bpf_prog_f00f00f00f00f00f+0x10 [bpf]");
	assert_named(ks, 0xffffffffc0200000, "-");
}

static void hidden_addresses_are_no_permission(void **state)
{
	struct kernel_syms *ks = NULL;

	assert_int_equal(parse("0000000000000000 T first\n0000000000000000 t second\n", &ks),
			 -EPERM);
	assert_int_equal(parse("", &ks), -ENODATA);
	assert_null(ks);
}

/* The kernel's own answer to somebody without capabilities; other settings show the addresses. */
static void a_user_without_rights_is_refused(void **state)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct kernel_syms *ks = NULL;
		auto_fclose FILE *f = NULL;
		unsigned long addr = 1;
		if (setgid(65534) || setuid(65534) || !(f = fopen("/proc/kallsyms", "re")) ||
		    fscanf(f, "%lx", &addr) != 1)
			_exit(2);
		_exit(kernel_syms_read(&ks) != (addr ? 0 : -EPERM));
	}
	waitpid(child, &status, 0);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		skip_because("kernel addresses take CAP_SYSLOG");
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void garbage_is_survived(void **state)
{
	static const char real[] = "ffffffff81000000 T first\nffffffff81000100 t second\t[mod]\n"
				   "ffffffffc0000100 t bpf_prog_f00f00f00f00f00f\t[bpf]\n";
	const char *lines[] = { "\n",
				" \n",
				"ffffffff81000000\n",
				"ffffffff81000000 T\n",
				"ffffffff81000000 T \n",
				"xyz T name\n",
				"ffffffffffffffffffff T long_address\n",
				"ffffffff81000000 T name\t[]\n",
				"ffffffff81000000 T name\t[\n",
				"ffffffff81000000 T \t[m]\n" };
	struct kernel_syms *ks;
	char text[sizeof(real)];

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		if (!parse(lines[i], &ks))
			kernel_syms_free(ks);
	}
	srand(11);
	memcpy(text, real, sizeof(text));
	for (int round = 0; round < 3001; round++) {
		text[(size_t)rand() % (sizeof(text) - 1)] = (char)(rand() % 256);
		auto_close int fd = text_fd(text, sizeof(text) - 1);
		const char *module;
		u64 offset;
		if (kernel_syms_read_fd(fd, &ks))
			continue;
		kernel_syms_find(ks, 0xffffffff81000123, &module, &offset);
		kernel_syms_find(ks, UINT64_MAX, &module, &offset);
		kernel_syms_free(ks);
	}
}

static void the_running_kernel_is_named_in_little_memory(void **state)
{
	auto_kernel_syms struct kernel_syms *ks = NULL;
	auto_fclose FILE *f = fopen("/proc/kallsyms", "re");
	const char *module;
	unsigned long addr;
	char type, name[512];
	u64 offset;
	int nr = 0;

	int err = kernel_syms_read(&ks);
	if (err == -EPERM)
		skip_because("kernel addresses take CAP_SYSLOG");
	assert_int_equal(err, 0);
	assert_in_range(kernel_syms_bytes(ks), 1, 6u << 20);
	while (fscanf(f, "%lx %c %511s%*[^\n]", &addr, &type, name) == 3) {
		if (strcmp(name, "vfs_read") && strcmp(name, "do_exit"))
			continue;
		const char *got = kernel_syms_find(ks, addr + 1, &module, &offset);
		assert_non_null(got);
		assert_string_equal(got, name);
		assert_string_equal(module, "");
		assert_int_equal(offset, 1);
		nr++;
	}
	assert_int_equal(nr, 2);
}

static int load_program(void)
{
	const struct bpf_insn body[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "sym_kernel_test", "GPL", body,
			     ARRAY_SIZE(body), NULL);
}

/* The address of our program in /proc/kallsyms, 0 if it is not there. */
static u64 program_addr(void)
{
	auto_fclose FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024];

	while (fgets(line, sizeof(line), f))
		if (strstr(line, "_sym_kernel_test\t[bpf]"))
			return strtoul(line, NULL, 16);
	return 0;
}

static void a_bpf_program_is_named_after_a_refresh_and_after_its_end(void **state)
{
	auto_kernel_syms struct kernel_syms *ks = NULL;
	const char *module, *name;
	u64 offset;

	if (kernel_syms_read(&ks))
		skip_because("kernel addresses take CAP_SYSLOG");
	int fd = load_program();
	if (fd < 0)
		skip_because("no BPF program can be loaded");
	u64 addr = program_addr();
	assert_int_equal(kernel_syms_refresh(ks), 0);
	for (int round = 0; addr && round < 2; round++) {
		name = kernel_syms_find(ks, addr + 2, &module, &offset);
		assert_non_null(name);
		assert_non_null(strstr(name, "_sym_kernel_test"));
		assert_string_equal(module, "bpf");
		assert_int_equal(offset, 2);
		if (round == 0)
			close(fd);
		assert_int_equal(kernel_syms_refresh(ks), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_named_by_the_symbol_before_it),
		cmocka_unit_test(the_most_readable_name_of_an_address_wins),
		cmocka_unit_test(modules_and_bpf_programs_end_somewhere),
		cmocka_unit_test(hidden_addresses_are_no_permission),
		cmocka_unit_test(a_user_without_rights_is_refused),
		cmocka_unit_test(garbage_is_survived),
		cmocka_unit_test(the_running_kernel_is_named_in_little_memory),
		cmocka_unit_test(a_bpf_program_is_named_after_a_refresh_and_after_its_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
