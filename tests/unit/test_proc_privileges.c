/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/rights.h"

static u64 set(int a, int b)
{
	return CAPABILITY(a) | CAPABILITY(b);
}

static void a_process_keeps_what_its_lines_name(void **state)
{
	const u64 all = ~0ull;
	u64 recorder = privileges_of(PRIVILEGED_RECORDER, 0, all);

	assert_true(recorder & CAPABILITY(CAP_BPF) && recorder & CAPABILITY(CAP_PERFMON));
	assert_false(recorder & set(CAP_SETUID, CAP_SETGID));
	assert_false(recorder & set(CAP_SYS_ADMIN, CAP_DAC_OVERRIDE));
	u64 attach = privileges_of(PRIVILEGED_ATTACH, 0, all);
	assert_true(attach & CAPABILITY(CAP_SYS_ADMIN) && attach & CAPABILITY(CAP_SETUID));
	assert_false(attach & set(CAP_BPF, CAP_PERFMON));
	u64 opener = privileges_of(PRIVILEGED_OPENER, 0, all);
	assert_true(opener & CAPABILITY(CAP_SETUID));
	assert_false(opener & CAPABILITY(CAP_SYS_ADMIN));
	assert_int_equal(opener & ~attach, 0); /* the helper forks it */
}

static void a_reason_adds_its_lines_only(void **state)
{
	const u64 all = ~0ull;
	u64 usual = privileges_of(PRIVILEGED_RECORDER, 0, all);

	assert_int_equal(privileges_of(PRIVILEGED_RECORDER, PRIVILEGE_UPROBES, all),
			 usual | CAPABILITY(CAP_SYS_ADMIN));
	assert_int_equal(privileges_of(PRIVILEGED_RECORDER, PRIVILEGE_OUTPUT, all),
			 usual | set(CAP_DAC_OVERRIDE, CAP_FOWNER));
}

static void a_capability_stands_in_for_a_missing_one(void **state)
{
	const u64 admin = CAPABILITY(CAP_SYS_ADMIN);

	assert_int_equal(privileges_of(PRIVILEGED_RECORDER, 0, admin), admin);
	assert_int_equal(privileges_of(PRIVILEGED_RECORDER, 0, admin | CAPABILITY(CAP_BPF)),
			 admin | CAPABILITY(CAP_BPF));
	assert_int_equal(privileges_of(PRIVILEGED_RECORDER, 0, set(CAP_BPF, CAP_PERFMON)),
			 set(CAP_BPF, CAP_PERFMON));
	assert_int_equal(privileges_of(PRIVILEGED_ATTACH, 0, 0), 0);
}

static void *answer(void *arg)
{
	return arg;
}

/* Numbers the first check that fails; 0 if none does. */
static int first_failure(enum privileged process)
{
	const bool attaches = process == PRIVILEGED_ATTACH;
	char *const none[] = { NULL };
	pthread_t thread;
	int sock;

	if (privileges_keep(process, 0) || call_filter_load(process))
		return 1;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || prctl(PR_GET_SECCOMP) != 2)
		return 2;
	if (capabilities_read() & ~privileges_of(process, 0, ~0ull))
		return 3;
	if (!execve("/bin/true", none, none) || errno != EPERM)
		return 4;
	if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL) || errno != EPERM)
		return 5;
	/* What attaching may call fails for another reason than the filter. */
	if (!mount("", "/nowhere/at/all", "", 0, NULL) || (!attaches && errno != EPERM))
		return 6;
	pid_t child = fork();
	if (!child)
		_exit(0);
	if ((child > 0) != attaches)
		return 7;
	sock = socket(AF_UNIX, SOCK_STREAM, 0);
	if ((sock >= 0) != (attaches || process == PRIVILEGED_OPENER))
		return 8;
	sock = socket(AF_INET, SOCK_STREAM, 0);
	if ((sock >= 0) != attaches)
		return 11;
	if (pthread_create(&thread, NULL, answer, NULL) || pthread_join(thread, NULL))
		return 9;
	if (syscall(SYS_bpf, -1, NULL, 0) != -1)
		return 10;
	return 0;
}

static int failure_of(enum privileged process)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(first_failure(process));
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static void the_recorder_starts_no_program_and_no_process(void **state)
{
	assert_int_equal(failure_of(PRIVILEGED_RECORDER), 0);
}

static void the_opener_starts_nothing_and_connects_to_this_machine_only(void **state)
{
	assert_int_equal(failure_of(PRIVILEGED_OPENER), 0);
}

static void attaching_starts_no_program(void **state)
{
	assert_int_equal(failure_of(PRIVILEGED_ATTACH), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_keeps_what_its_lines_name),
		cmocka_unit_test(a_reason_adds_its_lines_only),
		cmocka_unit_test(a_capability_stands_in_for_a_missing_one),
		cmocka_unit_test(the_recorder_starts_no_program_and_no_process),
		cmocka_unit_test(the_opener_starts_nothing_and_connects_to_this_machine_only),
		cmocka_unit_test(attaching_starts_no_program),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
