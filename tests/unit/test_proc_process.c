/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "proc/process.h"
#include "proc/status.h"

#define GONE_PID 4194300 /* above pid_max of a small machine */

static const struct mapping libjvm = {
	.start = 0x1000, .end = 0x2000, .inode = 7, .executable = true, .path = "/jdk/libjvm.so"
};

static void a_scan_finds_this_process_with_its_program(void **state)
{
	struct processes *all = processes_new();
	struct proc_status status;

	assert_true(processes_scan(all) > 0);
	assert_int_equal(proc_status_read(getpid(), &status), 0);
	struct process *p =
		processes_get(all, (struct process_id){ getpid(), status.start_ns }, "");
	assert_true(p->mappings.nr > 2);
	assert_non_null(
		mappings_find(&p->mappings, (uintptr_t)a_scan_finds_this_process_with_its_program));
	assert_string_equal(p->comm, status.comm);
	processes_free(all);
}

static void a_reused_pid_is_another_process(void **state)
{
	struct processes *all = processes_new();
	struct process *old =
		processes_get(all, (struct process_id){ GONE_PID, 1 * NS_PER_SEC }, "old");

	old->exit_ns = 100;
	processes_fork(all, 1, (struct process_id){ GONE_PID, 2 * NS_PER_SEC }, "new");
	assert_string_equal(
		processes_get(all, (struct process_id){ GONE_PID, 2 * NS_PER_SEC }, "x")->comm,
		"new");
	assert_ptr_equal(processes_get(all, (struct process_id){ GONE_PID, 1 * NS_PER_SEC }, "x"),
			 old);
	processes_reap(all, 101, NULL, NULL);
	assert_string_equal(processes_newest(all, GONE_PID)->comm, "new");
	assert_null(processes_newest(all, GONE_PID)->older);
	processes_free(all);
}

static void a_child_has_its_parents_mappings_until_it_executes(void **state)
{
	struct processes *all = processes_new();
	pid_t parent = GONE_PID, child = GONE_PID + 1;

	processes_get(all, (struct process_id){ parent, 1 }, "parent");
	process_mmap(processes_newest(all, parent), &libjvm);
	assert_true(processes_newest(all, parent)->is_jvm);

	processes_fork(all, parent, (struct process_id){ child, NS_PER_SEC }, "parent");
	assert_true(processes_newest(all, child)->is_jvm);
	assert_false(process_is_whole_jvm(processes_newest(all, child)));
	assert_int_equal(processes_newest(all, child)->jvm.pid, parent);
	process_exec(processes_newest(all, child), time_boot_ns());
	assert_false(processes_newest(all, child)->is_jvm);
	process_mmap(processes_newest(all, child), &libjvm);
	assert_true(process_is_whole_jvm(processes_newest(all, child)));
	process_exec(processes_newest(all, child), time_boot_ns());
	assert_int_equal(processes_newest(all, child)->mappings.nr, 0);
	assert_true(processes_newest(all, parent)->is_jvm);
	processes_free(all);
}

/* Maps a page of zeros, executable, from a file NAME. */
static void map_copy(const char *name)
{
	char folder[] = "/tmp/sysflame-test-XXXXXX", path[64], text[4096] = "";

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0755);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
	assert_true(mmap(NULL, sizeof(text), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) !=
		    MAP_FAILED);
	close(fd);
	unlink(path);
	rmdir(folder);
}

/* Reads a child of this JVM first, so that its parent is read for it. */
static void a_child_that_is_read_before_it_executes_is_no_jvm(void **state)
{
	struct processes *all = processes_new();
	struct proc_status status;

	map_copy("libjvm.so");
	pid_t child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	assert_int_equal(proc_status_read(child, &status), 0);
	struct process *p = processes_get(all, proc_status_id(&status), "");
	assert_true(p->is_jvm);
	assert_false(process_is_whole_jvm(p));
	assert_int_equal(p->jvm.pid, getpid());
	assert_true(process_is_whole_jvm(processes_newest(all, getpid())));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	processes_free(all);
}

#define CHAIN 11

/* Starts processes, each the child of the one before, that wait; `out` gets their PIDs in order. */
static void start_chain(pid_t out[CHAIN])
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	for (int i = 0; i < CHAIN; i++) {
		pid_t child = fork();
		assert_true(child >= 0);
		if (child && !i)
			break;
		if (child)
			pause();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pid_t own = getpid();
		if (write(ends[1], &own, sizeof(own)) != sizeof(own))
			_exit(1);
		if (i == CHAIN - 1)
			pause();
	}
	close(ends[1]);
	for (int i = 0; i < CHAIN; i++)
		assert_int_equal(read(ends[0], &out[i], sizeof(out[i])), sizeof(out[i]));
	close(ends[0]);
}

static const struct process *get_running(struct processes *all, pid_t pid)
{
	struct proc_status status;

	assert_int_equal(proc_status_read(pid, &status), 0);
	return processes_get(all, proc_status_id(&status), "");
}

/*
 * Whoever forks that often makes sysflame read 8 processes for one. The last one that is read then
 * stands for the JVM.
 */
static void a_long_chain_of_forks_of_a_jvm_is_followed_in_part(void **state)
{
	struct processes *from_end = processes_new(), *from_begin = processes_new();
	pid_t chain[CHAIN];

	map_copy("libjvm.so");
	start_chain(chain);
	const pid_t oldest = chain[CHAIN - 9];
	assert_int_equal(get_running(from_end, chain[CHAIN - 1])->jvm.pid, oldest);
	assert_int_equal(processes_newest(from_end, oldest)->jvm.pid, oldest);
	assert_null(processes_newest(from_end, chain[CHAIN - 10]));
	for (int i = 0; i < CHAIN; i++)
		assert_int_equal(get_running(from_begin, chain[i])->jvm.pid, getpid());
	kill(chain[0], SIGKILL);
	waitpid(chain[0], NULL, 0);
	processes_free(from_begin);
	processes_free(from_end);
}

static void a_new_mapping_and_an_exec_change_the_version(void **state)
{
	struct processes *all = processes_new();
	struct process *p = processes_get(all, (struct process_id){ GONE_PID, 1 }, "x");
	u64 first = p->mappings_version;

	process_mmap(p, &libjvm);
	u64 second = p->mappings_version;
	assert_int_not_equal(first, second);
	process_exec(p, time_boot_ns());
	assert_int_not_equal(second, p->mappings_version);
	processes_free(all);
}

static void a_kept_name_stays_until_the_next_program(void **state)
{
	struct processes *all = processes_new();
	struct process *p = processes_get(all, (struct process_id){ GONE_PID, 1 }, "x");

	process_rename(p, "y");
	process_keep_name(p);
	process_rename(p, "z");
	assert_string_equal(p->comm, "y");
	process_set_name(p, "program");
	process_rename(p, "job");
	assert_string_equal(p->comm, "job");
	processes_free(all);
}

static void map(struct process *p, u64 i)
{
	const struct mapping m = { .start = 0x1000 + i * 0x2000,
				   .end = 0x2000 + i * 0x2000,
				   .executable = true,
				   .path = "" };

	process_mmap(p, &m);
}

/* The kernel does not report that they are unmapped. */
static void too_many_new_mappings_are_read_again_instead(void **state)
{
	struct processes *all = processes_new();
	struct proc_status status;

	assert_int_equal(proc_status_read(getpid(), &status), 0);
	struct process *p =
		processes_get(all, (struct process_id){ getpid(), status.start_ns }, "");
	size_t nr = p->mappings.nr;
	assert_false(p->mappings_stale);
	for (u64 i = 0; i < 30011; i++)
		map(p, i);
	assert_true(p->mappings.nr < 8192);
	assert_true(p->mappings_stale);
	process_mmap(p, &libjvm);
	assert_true(p->is_jvm);
	process_refresh(p);
	assert_int_equal(p->mappings.nr, nr);
	map(p, 1);
	assert_int_equal(p->mappings.nr, nr + 1);
	processes_free(all);
}

/* The process is gone and cannot be read. It keeps the mappings it had. */
static void mappings_that_cannot_be_read_again_stay(void **state)
{
	struct processes *all = processes_new();
	struct process *p = processes_get(all, (struct process_id){ GONE_PID, 1 }, "x");

	for (u64 i = 0; i < 5003; i++)
		map(p, i);
	size_t nr = p->mappings.nr;
	assert_true(nr < 5003);
	process_refresh(p);
	map(p, 5003);
	assert_int_equal(p->mappings.nr, nr);
	processes_free(all);
}

static void a_process_that_is_gone_still_has_its_name(void **state)
{
	struct processes *all = processes_new();
	struct process *p =
		processes_get(all, (struct process_id){ GONE_PID, 1 }, "a name that is too long");

	assert_string_equal(p->comm, "a name that is ");
	assert_int_equal(p->mappings.nr, 0);
	processes_free(all);
}

struct search {
	pid_t wanted;
	bool is_lost;
};

/* Other processes of the node end meanwhile. */
static void note_lost(struct process *p, void *ctx)
{
	struct search *s = ctx;

	s->is_lost |= p->id.pid == s->wanted;
	p->exit_ns = 1;
}

static void a_process_whose_exit_was_lost_is_found(void **state)
{
	struct processes *all = processes_new();
	struct search s = { .wanted = fork() };

	if (!s.wanted)
		_exit(pause());
	assert_true(processes_scan(all) > 0);
	assert_non_null(processes_newest(all, s.wanted));
	processes_find_lost(all, note_lost, &s);
	assert_false(s.is_lost);
	kill(s.wanted, SIGKILL);
	waitpid(s.wanted, NULL, 0);
	processes_find_lost(all, note_lost, &s);
	assert_true(s.is_lost);
	processes_free(all);
}

/* The exit of the first and the fork of the second were lost. */
static void an_earlier_process_of_a_pid_has_ended(void **state)
{
	struct processes *all = processes_new();
	struct search s = { .wanted = getpid() };

	assert_true(processes_scan(all) > 0);
	struct process *first = processes_newest(all, getpid());
	const struct process_id reused = { getpid(), first->id.start_ns + NS_PER_SEC };
	struct process *second = processes_fork(all, getppid(), reused, "second");
	processes_find_lost(all, note_lost, &s);
	assert_int_equal(first->exit_ns, 1);
	assert_int_equal(second->exit_ns, 0);
	processes_free(all);
}

/* A shell starts a compiler's driver, and that the compiler. */
static void ancestors_are_those_that_run_the_nearest_first(void **state)
{
	enum {
		SHELL = GONE_PID,
		DRIVER,
		COMPILER
	};
	struct processes *all = processes_new();

	struct process *shell =
		processes_fork(all, 0, (struct process_id){ SHELL, 1 * NS_PER_SEC }, "sh");
	struct process *driver =
		processes_fork(all, SHELL, (struct process_id){ DRIVER, 2 * NS_PER_SEC }, "gcc");
	struct process *compiler =
		processes_fork(all, DRIVER, (struct process_id){ COMPILER, 3 * NS_PER_SEC }, "cc1");
	struct ancestors of = process_ancestors(compiler);
	assert_int_equal(of.at[0], DRIVER);
	assert_int_equal(of.at[1], SHELL);
	assert_int_equal(of.at[2], 0);
	driver->exit_ns = 1;
	assert_int_equal(process_ancestors(compiler).at[0], SHELL);
	/* Another process gets the shell's PID. */
	shell->exit_ns = 1;
	processes_fork(all, 0, (struct process_id){ SHELL, 4 * NS_PER_SEC }, "other");
	assert_int_equal(process_ancestors(compiler).at[0], 0);
	processes_reap(all, 2, NULL, NULL);
	assert_int_equal(process_ancestors(compiler).at[0], 0);
	processes_free(all);
}

static void a_child_shares_its_parents_mappings_until_it_maps(void **state)
{
	struct processes *all = processes_new();
	struct process *parent = processes_get(all, (struct process_id){ GONE_PID, 1 }, "x");

	for (u64 i = 0; i < 100; i++)
		map(parent, i);
	struct process *child =
		processes_fork(all, GONE_PID, (struct process_id){ GONE_PID - 1, NS_PER_SEC }, "x");
	assert_int_equal(child->mappings.nr, 100);
	assert_ptr_equal(child->mappings.at, parent->mappings.at);
	map(child, 100);
	assert_int_equal(child->mappings.nr, 101);
	assert_int_equal(parent->mappings.nr, 100);
	map(parent, 200);
	process_exec(child, time_boot_ns());
	assert_int_equal(child->mappings.nr, 0);
	assert_int_equal(parent->mappings.nr, 101);
	processes_free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_whose_exit_was_lost_is_found),
		cmocka_unit_test(an_earlier_process_of_a_pid_has_ended),
		cmocka_unit_test(ancestors_are_those_that_run_the_nearest_first),
		cmocka_unit_test(a_child_shares_its_parents_mappings_until_it_maps),
		cmocka_unit_test(a_scan_finds_this_process_with_its_program),
		cmocka_unit_test(a_reused_pid_is_another_process),
		cmocka_unit_test(a_child_has_its_parents_mappings_until_it_executes),
		cmocka_unit_test(a_child_that_is_read_before_it_executes_is_no_jvm),
		cmocka_unit_test(a_long_chain_of_forks_of_a_jvm_is_followed_in_part),
		cmocka_unit_test(a_new_mapping_and_an_exec_change_the_version),
		cmocka_unit_test(a_kept_name_stays_until_the_next_program),
		cmocka_unit_test(too_many_new_mappings_are_read_again_instead),
		cmocka_unit_test(mappings_that_cannot_be_read_again_stay),
		cmocka_unit_test(a_process_that_is_gone_still_has_its_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
