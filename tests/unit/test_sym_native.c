/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names functions of real processes. The tests compile and start programs, which print the address
 * of one of their functions.
 */
#include "test.h"

#include "heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "elf/debugfile.h"
#include "proc/target_file.h"
#include "sym/files/native.h"

#define BUDGET (32u << 20)

static const char c_source[] =
	"#include <stdio.h>\n#include <unistd.h>\n"
	"static __attribute__((noinline)) int known_function(int n)\n"
	"{ volatile int sum = 0; while (n--) sum += n * 3; return sum; }\n"
	"int main(void)\n"
	"{ int r = known_function(7); printf(\"%p\\n\", (void *)known_function); fflush(stdout);\n"
	"  for (;;) pause(); return r; }\n";

static const char plt_source[] =
	"#include <stdio.h>\n#include <unistd.h>\n"
	"int main(void)\n"
	"{ printf(\"%p\\n\", (void *)pause); fflush(stdout); for (;;) pause(); }\n";

static const char cxx_source[] =
	"#include <stdio.h>\n#include <unistd.h>\n"
	"namespace shop { template <class T> struct Basket {\n"
	"  static __attribute__((noinline)) int total(T n, const char *) { volatile int s = n;\n"
	"    while (n--) s += n; return s; } }; }\n"
	"int main()\n"
	"{ int r = shop::Basket<int>::total(7, \"\");\n"
	"  printf(\"%p\\n\", (void *)shop::Basket<int>::total); fflush(stdout);\n"
	"  for (;;) pause(); return r; }\n";

static const char rust_source[] =
	"mod shop { #[inline(never)] pub fn total(n: u64) -> u64 { let mut s = n; for i in 0..n {\n"
	"  s = std::hint::black_box(s + i); } s } }\n"
	"fn main() { let f: fn(u64) -> u64 = shop::total; std::hint::black_box(f(7));\n"
	"  println!(\"{:p}\", f); loop { std::thread::sleep(std::time::Duration::from_secs(9)); } "
	"}\n";

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* Runs shell commands in the test's folder. */
static bool runs(const char *commands)
{
	return system(commands) == 0;
}

static int enter_folder(void **state)
{
	static char folder[64];

	snprintf(folder, sizeof(folder), "/tmp/sysflame-native.XXXXXX");
	if (!mkdtemp(folder) || chmod(folder, 0755) || chdir(folder))
		return -1;
	mkdir("debug", 0755);
	write_file("v.c", c_source);
	*state = folder;
	return 0;
}

static int leave_folder(void **state)
{
	auto_free char *command = xasprintf("rm -rf %s", (char *)*state);

	return chdir("/") || system(command);
}

struct victim {
	pid_t pid;
	u64 pc;
	struct mappings mappings;
	const struct mapping *m;
};

/* Starts `path`. `prepare` runs in the child first and may change its namespaces or root. */
static void start_in(struct victim *v, const char *path, void (*prepare)(void))
{
	auto_fclose FILE *output = NULL;
	char line[64] = "";
	int out[2];

	assert_int_equal(pipe(out), 0);
	v->pid = fork();
	if (v->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (prepare)
			prepare();
		dup2(out[1], STDOUT_FILENO);
		close(out[0]);
		close(out[1]);
		execl(path, path, NULL);
		_exit(127);
	}
	close(out[1]);
	output = fdopen(out[0], "re");
	assert_non_null(fgets(line, sizeof(line), output));
	v->pc = strtoull(line, NULL, 16);
	assert_int_equal(mappings_read(v->pid, true, &v->mappings), 0);
	assert_non_null(v->m = mappings_find(&v->mappings, v->pc));
}

static void start(struct victim *v, const char *path)
{
	start_in(v, path, NULL);
}

static void stop(struct victim *v)
{
	kill(v->pid, SIGKILL);
	waitpid(v->pid, NULL, 0);
	mappings_fini(&v->mappings);
}

static void assert_named(struct native *n, const struct victim *v, const char *symbol,
			 const char *module)
{
	struct native_name name;

	assert_int_equal(native_name(n, &(struct mapper){ .pid = v->pid }, v->m, v->pc + 1, &name),
			 0);
	assert_string_equal(name.symbol, symbol);
	assert_string_equal(name.module, module);
}

static void assert_unnamed(struct native *n, const struct victim *v, int err)
{
	struct native_name name;

	assert_int_equal(native_name(n, &(struct mapper){ .pid = v->pid }, v->m, v->pc + 1, &name),
			 err);
	assert_null(name.symbol);
}

/* Starts ./v, which `commands` built, and expects a name for its function. */
static void builds_and_is_named(const char *commands, const char *symbol)
{
	auto_native struct native *n = native_new(BUDGET, "debug");
	struct victim v;

	assert_true(runs(commands));
	start(&v, "./v");
	assert_named(n, &v, symbol, "v");
	stop(&v);
}

static void programs_of_every_layout_are_named(void **state)
{
	builds_and_is_named("gcc -O1 -g0 -pie -fPIE v.c -o v", "known_function");
	builds_and_is_named("gcc -O1 -g0 -no-pie -fno-pie v.c -o v", "known_function");
	builds_and_is_named("gcc -O1 -g0 -static -no-pie v.c -o v", "known_function");
	builds_and_is_named("gcc -O1 -g0 -static-pie v.c -o v", "known_function");
	builds_and_is_named("gcc -O1 -g0 -Wl,-z,noseparate-code v.c -o v", "known_function");
}

static void an_offset_is_the_address_in_the_file(void **state)
{
	auto_native struct native *n = native_new(BUDGET, "debug");
	struct native_name name;
	struct victim v;
	char line[64];

	assert_true(runs("gcc -O1 v.c -o v && nm v | sed -n 's/ t known_function//p' >offset"));
	start(&v, "./v");
	assert_int_equal(native_name(n, &(struct mapper){ .pid = v.pid }, v.m, v.pc + 3, &name), 0);
	auto_fclose FILE *f = fopen("offset", "re");
	assert_non_null(fgets(line, sizeof(line), f));
	assert_int_equal(name.offset, strtoull(line, NULL, 16) + 3);
	assert_false(name.is_libjvm);
	stop(&v);
}

/* Its samples become one frame, not one for each instruction: `function` is the same for all. */
static void a_stripped_program_has_its_module_and_functions(void **state)
{
	auto_native struct native *n = native_new(BUDGET, "debug");
	struct native_name name;
	struct victim v;

	assert_true(runs("gcc -O1 v.c -o v && strip v"));
	start(&v, "./v");
	assert_int_equal(native_name(n, &(struct mapper){ .pid = v.pid }, v.m, v.pc, &name),
			 -ENOENT);
	assert_null(name.symbol);
	assert_string_equal(name.module, "v");
	assert_in_range(name.offset, 1, 65536);
	assert_int_equal(name.unnamed.kind, UNNAMED_FUNCTION);
	assert_int_equal(name.unnamed.start, name.offset);
	assert_int_equal(native_name(n, &(struct mapper){ .pid = v.pid }, v.m, v.pc + 5, &name),
			 -ENOENT);
	assert_int_equal(name.unnamed.start, name.offset - 5);
	stop(&v);
}

static void separate_debug_files_name_a_stripped_program(void **state)
{
	builds_and_is_named(
		"gcc -O1 -g v.c -o v -Wl,--build-id=sha1 && "
		"id=$(readelf -n v | sed -n 's/.*Build ID: //p') && "
		"mkdir -p debug/.build-id/$(echo $id | cut -c1-2) && "
		"objcopy --only-keep-debug v "
		"debug/.build-id/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-).debug && "
		"strip v",
		"known_function");
	assert_true(runs("rm -rf debug/.build-id"));
	/* By link: beside the program, in .debug, and under the debug root. */
	const char *const places[] = { ".", ".debug", "debug$PWD", ".", ".debug", "debug$PWD" };
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		auto_free char *commands =
			xasprintf("rm -rf .debug debug v.debug; mkdir -p debug %s && "
				  "gcc -O1 -g v.c -o v -Wl,--build-id=%s && objcopy "
				  "--only-keep-debug v v.debug && "
				  "strip v && objcopy --add-gnu-debuglink=v.debug v && "
				  "{ [ %s = . ] || mv v.debug %s/; }",
				  places[i], i < 3 ? "none" : "sha1", places[i], places[i]);
		builds_and_is_named(commands, "known_function");
	}
}

static void a_debug_file_of_another_build_is_not_used(void **state)
{
	const char *const ids[] = { "none", "sha1" };

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		auto_native struct native *n = native_new(BUDGET, "debug");
		struct victim v;
		auto_free char *commands =
			xasprintf("rm -rf .debug debug; gcc -O1 -g v.c -o v -Wl,--build-id=%s && "
				  "objcopy --only-keep-debug v v.debug && strip v && "
				  "objcopy --add-gnu-debuglink=v.debug v && "
				  "gcc -O2 -g -DX v.c -o w -Wl,--build-id=%s && "
				  "objcopy --only-keep-debug w v.debug",
				  ids[i], ids[i]);
		assert_true(runs(commands));
		start(&v, "./v");
		assert_unnamed(n, &v, -ENOENT);
		stop(&v);
	}
	runs("rm -f v.debug");
}

static void embedded_debug_data_names_a_stripped_program(void **state)
{
	builds_and_is_named(
		"gcc -O1 -g0 v.c -o v && objcopy --only-keep-debug v mini && strip v && "
		"xz -k9 mini && objcopy --add-section .gnu_debugdata=mini.xz v",
		"known_function");
}

static void a_jump_through_the_plt_is_named(void **state)
{
	write_file("v_plt.c", plt_source);
	builds_and_is_named("gcc -O1 -no-pie -fno-pie v_plt.c -o v", "pause@plt");
	builds_and_is_named("gcc -O1 -no-pie -fno-pie -fcf-protection v_plt.c -o v -Wl,-z,ibtplt",
			    "pause@plt");
	builds_and_is_named("gcc -O1 -no-pie -fno-pie -Wl,-z,now v_plt.c -o v && strip v",
			    "pause@plt");
}

static void cxx_is_demangled(void **state)
{
	write_file("v.cc", cxx_source);
	builds_and_is_named("g++ -O1 v.cc -o v", "shop::Basket<int>::total");
}

static void rust_is_demangled(void **state)
{
	if (!runs("command -v rustc >rustc.log && rustc --version >rustc.log 2>&1"))
		skip_because("rustc is not installed");
	write_file("v.rs", rust_source);
	builds_and_is_named("RUSTC_BOOTSTRAP=1 rustc -O -Z unstable-options "
			    "-C symbol-mangling-version=legacy v.rs -o v 2>rustc.log",
			    "v::shop::total");
	builds_and_is_named("rustc -O -C symbol-mangling-version=v0 v.rs -o v 2>rustc.log",
			    "v::shop::total");
}

static void the_vdso_is_named(void **state)
{
	auto_native struct native *n = native_new(BUDGET, "debug");
	void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	struct mappings all;
	struct native_name name;

	if (!vdso)
		skip_because("there is no vdso");
	u64 pc = (u64)(uintptr_t)dlsym(vdso, "__vdso_clock_gettime");
	assert_int_equal(mappings_read(getpid(), true, &all), 0);
	assert_int_equal(native_name(n, &(struct mapper){ .pid = getpid() },
				     mappings_find(&all, pc), pc, &name),
			 0);
	assert_non_null(strstr(name.symbol, "clock_gettime"));
	assert_string_equal(name.module, "[vdso]");
	mappings_fini(&all);
	dlclose(vdso);
}

static void memory_without_a_file_has_no_names(void **state)
{
	auto_native struct native *n = native_new(BUDGET, "debug");
	struct mapping m = { .start = 0x1000, .end = 0x3000, .path = (char[]){ "" } };
	struct native_name name;

	assert_int_equal(native_name(n, &(struct mapper){ .pid = getpid() }, &m, 0x2345, &name),
			 -ENOENT);
	assert_string_equal(name.module, "[anon]");
	assert_int_equal(name.offset, 0x1345);
}

static bool may_use_map_files(void)
{
	struct victim v;
	char path[128];

	start(&v, "./v");
	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", v.pid, (unsigned long)v.m->start,
		 (unsigned long)v.m->end);
	bool may = access(path, R_OK) == 0;
	stop(&v);
	return may;
}

static void deleted_and_replaced_files_are_named(void **state)
{
	auto_native struct native *n = native_new(BUDGET, "debug");
	struct victim v, w;

	assert_true(runs("gcc -O1 v.c -o v && cp v keep"));
	if (!may_use_map_files())
		skip_because("map_files takes CAP_CHECKPOINT_RESTORE");
	start(&v, "./v");
	unlink("v");
	assert_named(n, &v, "known_function", "v");
	/* Also for a mapping that was merged or split since. */
	struct mapping split = *v.m;
	split.end += 4096;
	v.m = &split;
	assert_named(n, &v, "known_function", "v");
	stop(&v);

	assert_true(runs("cp keep v"));
	start(&w, "./v");
	assert_true(runs("sed s/known_function/other_function/g v.c >o.c && gcc -O2 o.c -o o && "
			 "mv o v"));
	assert_named(n, &w, "known_function", "v");
	stop(&w);
}

/* Without map_files a mapping must not be named by another file at its path. */
/* Opens the file by another of its mappings, or not at all. */
static bool opens_nothing_else(const struct victim *v, const struct mapping *m)
{
	auto_close int fd = mapped_file_open(v->pid, m);
	struct stat st;

	return fd < 0 || (!fstat(fd, &st) && st.st_ino == m->inode);
}

static void a_replaced_file_is_never_read_by_its_path(void **state)
{
	struct mapping m;
	struct victim v;

	assert_true(runs("gcc -O1 v.c -o v && cp v other"));
	start(&v, "./v");
	/* Neither map_files nor the list of mappings contains this one. */
	m = *v.m;
	m.start -= 1ull << 30;
	m.end = m.start + 4096;
	auto_close int fd = mapped_file_open(v.pid, &m);
	assert_true(fd >= 0);
	assert_true(runs("mv other v"));
	assert_true(opens_nothing_else(&v, &m));
	assert_true(runs("rm v && ln -s other v && touch other"));
	assert_true(opens_nothing_else(&v, &m));
	assert_true(runs("rm v && mkfifo v"));
	assert_true(opens_nothing_else(&v, &m));
	stop(&v);
	unlink("v");
}

static void a_process_that_has_ended_is_named_by_the_path(void **state)
{
	auto_native struct native *seen = native_new(BUDGET, "debug");
	auto_native struct native *n = native_new(BUDGET, "debug");
	auto_native struct native *late = native_new(BUDGET, "debug");
	struct victim v;

	assert_true(runs("gcc -O1 v.c -o v"));
	start(&v, "./v");
	assert_named(seen, &v, "known_function", "v");
	kill(v.pid, SIGKILL);
	waitpid(v.pid, NULL, 0);
	assert_named(n, &v, "known_function", "v");
	unlink("v");
	assert_unnamed(late, &v, -ENOENT);
	assert_named(seen, &v, "known_function", "v");
	mappings_fini(&v.mappings);
}

/* Forks have their parent's mappings; many have ended when their samples are named. */
static void a_fork_that_has_ended_is_named_by_its_parents_file(void **state)
{
	auto_native struct native *n = native_new(BUDGET, "debug");
	auto_native struct native *late = native_new(BUDGET, "debug");
	struct victim v;

	assert_true(runs("gcc -O1 v.c -o v"));
	start(&v, "./v");
	struct victim fork_of_v = v;
	fork_of_v.pid = fork();
	if (!fork_of_v.pid)
		_exit(0);
	waitpid(fork_of_v.pid, NULL, 0);
	assert_named(n, &v, "known_function", "v");
	assert_true(runs("mv v kept"));
	assert_named(n, &fork_of_v, "known_function", "v");
	assert_unnamed(late, &fork_of_v, -ENOENT);
	assert_true(runs("mv kept v"));
	assert_named(late, &v, "known_function", "v");
	stop(&v);
}

static void to_own_mount_namespace(void)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", "hidden", "tmpfs", 0, NULL) || !runs("cp keep hidden/v"))
		_exit(1);
}

static void to_overlay(void)
{
	to_own_mount_namespace();
	if (!runs("cd hidden && mkdir lower upper work merged && cp ../keep lower/v && "
		  "mount -t overlay overlay "
		  "-o lowerdir=lower,upperdir=upper,workdir=work merged"))
		_exit(1);
}

static void to_chroot(void)
{
	if (chroot("jail") || chdir("/"))
		_exit(1);
}

/* Whether a child can do that here. */
static bool can(void (*prepare)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		prepare();
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void named_in_another_world(const char *path, void (*prepare)(void))
{
	auto_native struct native *n = native_new(BUDGET, "debug");
	struct mapping m;
	struct victim v;

	start_in(&v, path, prepare);
	assert_named(n, &v, "known_function", "v");

	/* And through the process's root, where map_files cannot help. */
	m = *v.m;
	m.end += 4096;
	v.m = &m;
	assert_named(n, &v, "known_function", "v");
	stop(&v);
}

static void a_process_in_another_mount_namespace_is_named(void **state)
{
	assert_true(runs("mkdir -p hidden && gcc -O1 -static v.c -o keep"));
	if (!can(to_own_mount_namespace))
		skip_because("mount namespaces take root");
	named_in_another_world("hidden/v", to_own_mount_namespace);
}

static void a_process_on_an_overlay_is_named(void **state)
{
	assert_true(runs("mkdir -p hidden && gcc -O1 -static v.c -o keep"));
	if (!can(to_overlay))
		skip_because("overlays cannot be mounted");
	named_in_another_world("hidden/merged/v", to_overlay);
}

static void a_process_in_a_chroot_is_named(void **state)
{
	assert_true(runs("mkdir -p jail && gcc -O1 -static v.c -o jail/v"));
	if (!can(to_chroot))
		skip_because("chroot takes root");
	named_in_another_world("/v", to_chroot);
}

static void processes_share_a_module_and_copies_do_too(void **state)
{
	auto_native struct native *n = native_new(BUDGET, "debug");
	struct victim v, w, x;

	assert_true(runs("gcc -O1 -static v.c -o v -Wl,--build-id=sha1 && cp v copy"));
	start(&v, "./v");
	start(&w, "./v");
	start(&x, "./copy");
	heap_count();
	size_t before = heap_bytes;
	assert_named(n, &v, "known_function", "v");
	size_t one = heap_bytes - before;
	assert_named(n, &w, "known_function", "v");
	assert_named(n, &x, "known_function", "copy");
	assert_in_range(heap_bytes - before, one, one * 3 / 2);
	stop(&v);
	stop(&w);
	stop(&x);
}

static void eviction_keeps_the_budget_and_the_names(void **state)
{
	struct victim v[3];

	for (int i = 0; i < 3; i++) {
		auto_free char *commands =
			xasprintf("gcc -O%d -static -Wl,--build-id=sha1 v.c -o v%d", i, i);
		auto_free char *path = xasprintf("./v%d", i);
		assert_true(runs(commands));
		start(&v[i], path);
	}
	heap_count();
	size_t before = heap_bytes;
	auto_native struct native *big = native_new(BUDGET, "debug");
	assert_named(big, &v[0], "known_function", "v0");
	size_t one = heap_bytes - before;
	auto_native struct native *n = native_new(one * 2, "debug");
	before = heap_bytes;
	for (int i = 0; i < 9; i++) {
		char module[8];
		snprintf(module, sizeof(module), "v%d", i % 3);
		assert_named(n, &v[i % 3], "known_function", module);
		assert_in_range(heap_bytes - before, 1, one * 2);
	}
	for (int i = 0; i < 3; i++)
		stop(&v[i]);
}

static void a_file_that_is_no_elf_file_is_reported(void **state)
{
	auto_native struct native *n = native_new(BUDGET, "debug");
	struct native_name name;
	struct mapping m = { .start = 0x10000, .end = 0x20000 };
	struct stat st;

	assert_true(runs("echo no elf file >text"));
	assert_int_equal(stat("text", &st), 0);
	m.inode = st.st_ino;
	m.dev_major = major(st.st_dev);
	m.dev_minor = minor(st.st_dev);
	m.path = xasprintf("%s/text", (char *)*state);
	assert_int_equal(native_name(n, &(struct mapper){ .pid = getpid() }, &m, 0x10100, &name),
			 -ENOEXEC);
	assert_string_equal(name.module, "text");
	assert_int_equal(name.offset, 0x100);
	free((char *)m.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_of_every_layout_are_named),
		cmocka_unit_test(an_offset_is_the_address_in_the_file),
		cmocka_unit_test(a_stripped_program_has_its_module_and_functions),
		cmocka_unit_test(separate_debug_files_name_a_stripped_program),
		cmocka_unit_test(a_debug_file_of_another_build_is_not_used),
		cmocka_unit_test(embedded_debug_data_names_a_stripped_program),
		cmocka_unit_test(a_jump_through_the_plt_is_named),
		cmocka_unit_test(cxx_is_demangled),
		cmocka_unit_test(rust_is_demangled),
		cmocka_unit_test(the_vdso_is_named),
		cmocka_unit_test(memory_without_a_file_has_no_names),
		cmocka_unit_test(deleted_and_replaced_files_are_named),
		cmocka_unit_test(a_replaced_file_is_never_read_by_its_path),
		cmocka_unit_test(a_process_that_has_ended_is_named_by_the_path),
		cmocka_unit_test(a_fork_that_has_ended_is_named_by_its_parents_file),
		cmocka_unit_test(a_process_in_another_mount_namespace_is_named),
		cmocka_unit_test(a_process_on_an_overlay_is_named),
		cmocka_unit_test(a_process_in_a_chroot_is_named),
		cmocka_unit_test(processes_share_a_module_and_copies_do_too),
		cmocka_unit_test(eviction_keeps_the_budget_and_the_names),
		cmocka_unit_test(a_file_that_is_no_elf_file_is_reported),
	};
	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
