/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "proc/status.h"

#define STATUS                                                                                    \
	"Name:\tja\\nva\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t4711\nNStgid:\t4711\t31\t7\n" \
	"Uid:\t1000\t1001\t1002\t1003\nGid:\t100\t101\t102\t103\n"                                \
	"Threads:\t31\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000004\n"                    \
	"SigIgn:\t0000000000001000\nSigCgt:\t2000000181005ccf\n"
#define STAT                                                                                    \
	"4711 (ja) va\n(x) T 42 4711 4711 0 -1 4194560 7 0 0 0 1 2 0 0 20 0 31 0 123457 1 2 3 " \
	"18446744073709551615 0 140721"

static void every_field_is_read(void **state)
{
	struct proc_status s;

	assert_int_equal(proc_status_parse(STATUS, STAT, &s), 0);
	assert_int_equal(s.pid, 4711);
	assert_int_equal(s.nspid, 7);
	assert_int_equal(s.nr_nspid, 3);
	assert_int_equal(s.parent_pid, 42);
	assert_int_equal(s.nr_threads, 31);
	assert_int_equal(s.uid, 1000);
	assert_int_equal(s.euid, 1001);
	assert_int_equal(s.fsuid, 1003);
	assert_int_equal(s.egid, 101);
	assert_int_equal(s.fsgid, 103);
	assert_int_equal(s.state, 'T');
	assert_true(s.sigcgt & 1 << (SIGQUIT - 1));
	assert_int_equal(s.sigign, 0x1000);
	assert_int_equal(s.shdpnd, 4);
	assert_int_equal(s.start_ns, 1234570000000ull);
	assert_int_equal(s.start_stack, 140721);
	assert_false(s.is_kernel_thread);
}

static void a_comm_with_parentheses_and_newlines_is_kept(void **state)
{
	struct proc_status s;

	assert_int_equal(proc_status_parse(STATUS, STAT, &s), 0);
	assert_string_equal(s.comm, "ja) va\n(x");
}

static void a_kernel_without_nstgid_has_one_pid(void **state)
{
	struct proc_status s;
	char text[] = STATUS;

	memcpy(strstr(text, "NStgid"), "Foobar", 6);
	assert_int_equal(proc_status_parse(text, STAT, &s), 0);
	assert_int_equal(s.nspid, 4711);
	assert_int_equal(s.nr_nspid, 1);
}

static void a_truncated_text_is_an_error_or_complete(void **state)
{
	struct proc_status s;
	char text[] = STAT;

	for (size_t len = strlen(text) - 60; len; len--) {
		text[len] = '\0';
		assert_int_equal(proc_status_parse(STATUS, text, &s), -EBADMSG);
	}
	assert_int_equal(proc_status_parse("", STAT, &s), -EBADMSG);
	assert_int_equal(proc_status_parse(STATUS, "", &s), -EBADMSG);
}

static void this_process_is_read_correctly(void **state)
{
	struct proc_status s;

	assert_int_equal(proc_status_read(getpid(), &s), 0);
	assert_int_equal(s.pid, getpid());
	assert_int_equal(s.euid, geteuid());
	assert_int_equal(s.parent_pid, getppid());
	assert_true(s.start_ns <= time_boot_ns());
	struct process_id id = proc_status_id(&s), later = id, next = id;
	later.start_ns += PROC_TICK_NS - 1;
	next.start_ns += PROC_TICK_NS;
	assert_true(process_id_same(id, later));
	assert_int_equal(process_id_hash(id), process_id_hash(later));
	assert_false(process_id_same(id, next));
}

static void a_process_that_is_gone_is_esrch(void **state)
{
	struct proc_status s;
	pid_t child = fork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	assert_int_equal(proc_status_read(child, &s), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_is_read),
		cmocka_unit_test(a_comm_with_parentheses_and_newlines_is_kept),
		cmocka_unit_test(a_kernel_without_nstgid_has_one_pid),
		cmocka_unit_test(a_truncated_text_is_an_error_or_complete),
		cmocka_unit_test(this_process_is_read_correctly),
		cmocka_unit_test(a_process_that_is_gone_is_esrch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
