/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "heap.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/time.h"
#include "sym/kernel.h"
#include "sym/symbolize.h"

/* A file that contains the text. */
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

static void modules_and_bpf_programs_have_an_end(void **state)
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

/* Code between them that has no symbol yet is neither's. */
static void bpf_programs_far_apart_have_an_end(void **state)
{
	auto_kernel_syms struct kernel_syms *ks = NULL;

	assert_int_equal(parse("ffffffffc0000000 t bpf_prog_a\t[bpf]\n"
			       "ffffffffc0000800 t bpf_prog_b\t[bpf]\n"
			       "ffffffffc0400000 t bpf_prog_c\t[bpf]\n",
			       &ks),
			 0);
	assert_named(ks, 0xffffffffc00007ff, "bpf_prog_a+0x7ff [bpf]");
	assert_named(ks, 0xffffffffc0001000, "bpf_prog_b+0x800 [bpf]");
	assert_named(ks, 0xffffffffc0200000, "-");
	assert_named(ks, 0xffffffffc0400010, "bpf_prog_c+0x10 [bpf]");
}

static void hidden_addresses_are_a_permission_error(void **state)
{
	struct kernel_syms *ks = NULL;

	assert_int_equal(parse("0000000000000000 T first\n0000000000000000 t second\n", &ks),
			 -EPERM);
	assert_int_equal(parse("", &ks), -ENODATA);
	assert_null(ks);
}

/* The kernel decides what a user without capabilities sees; some settings show the addresses. */
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

static void the_symbols_of_the_running_kernel_fit_in_6_mb(void **state)
{
	auto_kernel_syms struct kernel_syms *ks = NULL;
	auto_fclose FILE *f = fopen("/proc/kallsyms", "re");
	const char *module;
	unsigned long addr;
	char type, name[512];
	u64 offset;
	int nr = 0;

	heap_count();
	size_t before = heap_bytes;
	int err = kernel_syms_read(&ks);
	if (err == -EPERM)
		skip_because("kernel addresses take CAP_SYSLOG");
	assert_int_equal(err, 0);
	assert_in_range(heap_bytes - before, 1, 6u << 20);
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

/* Several runs of this test may coincide. */
static const char *program_name(void)
{
	static char name[BPF_OBJ_NAME_LEN];

	snprintf(name, sizeof(name), "test_%d", (int)getpid());
	return name;
}

static int load_named(const char *name)
{
	const struct bpf_insn body[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, name, "GPL", body, ARRAY_SIZE(body),
			     NULL);
}

static int load_program(void)
{
	return load_named(program_name());
}

/* The address of its code, 0 if the kernel does not show it. */
static u64 code_of(int fd)
{
	u64 addr = 0;
	struct bpf_prog_info info = { .nr_jited_ksyms = 1, .jited_ksyms = (u64)(uintptr_t)&addr };
	u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : addr;
}

/* The address of our program in /proc/kallsyms, 0 if it is missing. */
static u64 program_addr(void)
{
	auto_fclose FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024], wanted[64];

	snprintf(wanted, sizeof(wanted), "_%s\t[bpf]", program_name());
	while (fgets(line, sizeof(line), f))
		if (strstr(line, wanted))
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
		assert_non_null(strstr(name, program_name()));
		assert_string_equal(module, "bpf");
		assert_int_equal(offset, 2);
		if (round == 0)
			close(fd);
		assert_int_equal(kernel_syms_refresh(ks), 0);
	}
}

/* The kernel frees a program late, and may give its memory to a program of another process. */
static void a_bpf_program_at_a_reused_address_has_its_own_name(void **state)
{
	auto_kernel_syms struct kernel_syms *ks = NULL;
	const char *module, *name;
	u64 offset, first, second = 0;
	int fd = load_named("test_zz"); /* the better name by the rules for equal addresses */

	first = fd < 0 ? 0 : code_of(fd);
	if (kernel_syms_read(&ks) || !first || !kernel_syms_find(ks, first, &module, &offset))
		skip_because("no BPF program can be loaded and seen");
	for (int tries = 0; second != first && tries < 500; tries++) {
		close(fd);
		usleep(1000);
		fd = load_program();
		second = fd < 0 ? 0 : code_of(fd);
	}
	if (second == first) {
		assert_int_equal(kernel_syms_refresh(ks), 0);
		name = kernel_syms_find(ks, first, &module, &offset);
		assert_non_null(name);
		assert_non_null(strstr(name, program_name()));
	}
	close(fd);
}

static const struct frame *kernel_frame(struct symbolizer *s, const struct frames *frames, u64 pc)
{
	struct process p = { 0 };
	const struct raw_stack stack = { .kernel = &pc, .nr_kernel = 1 };
	unnamed_list unnamed = { 0 };
	frame_list out = { 0 };

	symbolize(s, &p, &stack, &out, &unnamed);
	assert_int_equal(out.nr, 1);
	const struct frame *f = frames_get(frames, out.at[0]);
	vec_fini(&out);
	return f;
}

static bool write_symbols(const char *path, const char *text)
{
	auto_fclose FILE *f = fopen(path, "we");

	return f && fputs(text, f) >= 0;
}

/* Replaces /proc/kallsyms for this process from here on. */
static bool show_symbols(const char *path, const char *text)
{
	return write_symbols(path, text) && !unshare(CLONE_NEWNS) &&
	       !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount(path, "/proc/kallsyms", NULL, MS_BIND, NULL);
}

/* Its first sample comes soon after the symbols were read, when they may not be read again yet. */
static void code_loaded_later_gets_its_name(void **state)
{
	const char before[] = "ffffffff81000000 T first\n",
		   after[] = "ffffffff81000000 T first\nffffffffc0000000 t loaded_late\t[late]\n";
	struct frames *frames = frames_new();
	struct symbolizer *s = symbolizer_new(frames, NULL, NULL);
	const struct frame *f = NULL;
	char path[] = "/tmp/test_sym_kernel.XXXXXX";

	close(mkstemp(path));
	bool is_shown = show_symbols(path, before);
	if (is_shown) {
		f = kernel_frame(s, frames, 0xffffffffc0000010);
		assert_string_equal(f->name, "[kernel]");
		assert_true(write_symbols(path, after));
		u64 end = time_mono_ns() + 60 * NS_PER_SEC;
		while (strcmp(f->name, "loaded_late") && time_mono_ns() < end) {
			usleep(50000);
			f = kernel_frame(s, frames, 0xffffffffc0000010);
		}
		umount("/proc/kallsyms");
	}
	unlink(path);
	if (is_shown) {
		assert_string_equal(f->name, "loaded_late");
		assert_string_equal(f->module, "late");
	}
	symbolizer_free(s);
	frames_free(frames);
	if (!is_shown)
		skip_because("no file can be mounted over /proc/kallsyms");
}

/* It lies behind a program that was there when the symbols were read. */
static void code_made_later_has_its_own_name_at_once(void **state)
{
	const char symbols[] =
		"ffffffff81000000 T first\nffffffffc0000000 t bpf_prog_1_old\t[bpf]\n";
	struct frames *frames = frames_new();
	struct symbolizer *s = symbolizer_new(frames, NULL, NULL);
	char path[] = "/tmp/test_sym_kernel.XXXXXX";

	close(mkstemp(path));
	if (!show_symbols(path, symbols)) {
		unlink(path);
		skip_because("no file can be mounted over /proc/kallsyms");
		return;
	}
	assert_string_equal(kernel_frame(s, frames, 0xffffffffc0000110)->name, "bpf_prog_1_old");
	const char *names[] = { "bpf_prog_2_new", "bpf_prog_3_newer" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct mapping code = { .start = 0xffffffffc0000100,
					      .end = 0xffffffffc0000140,
					      .path = (char *)names[i] };
		symbolizer_add_kernel_code(s, &code);
		assert_string_equal(kernel_frame(s, frames, 0xffffffffc0000110)->name, names[i]);
	}
	assert_string_equal(kernel_frame(s, frames, 0xffffffffc0000010)->name, "bpf_prog_1_old");
	umount("/proc/kallsyms");
	unlink(path);
	symbolizer_free(s);
	frames_free(frames);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_named_by_the_symbol_before_it),
		cmocka_unit_test(the_most_readable_name_of_an_address_wins),
		cmocka_unit_test(modules_and_bpf_programs_have_an_end),
		cmocka_unit_test(bpf_programs_far_apart_have_an_end),
		cmocka_unit_test(hidden_addresses_are_a_permission_error),
		cmocka_unit_test(a_user_without_rights_is_refused),
		cmocka_unit_test(garbage_is_survived),
		cmocka_unit_test(the_symbols_of_the_running_kernel_fit_in_6_mb),
		cmocka_unit_test(a_bpf_program_is_named_after_a_refresh_and_after_its_end),
		cmocka_unit_test(a_bpf_program_at_a_reused_address_has_its_own_name),
		cmocka_unit_test(code_loaded_later_gets_its_name),
		cmocka_unit_test(code_made_later_has_its_own_name_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
