/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -Wl,--no-as-needed -lseccomp */
/*
 * Runs a program below a seccomp filter that forbids one system call: it kills the process, traps,
 * or fails with EPERM. usage: filtered kill|trap|errno CALL PROGRAM ARG..
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int call = argc > 3 ? seccomp_syscall_resolve_name(argv[2]) : __NR_SCMP_ERROR;

	if (!filter || call == __NR_SCMP_ERROR) {
		fputs("usage: filtered kill|trap|errno CALL PROGRAM ARG..\n", stderr);
		return 2;
	}
	unsigned action = !strcmp(argv[1], "kill")   ? SCMP_ACT_KILL_PROCESS
			  : !strcmp(argv[1], "trap") ? SCMP_ACT_TRAP
						     : SCMP_ACT_ERRNO(EPERM);
	if (seccomp_rule_add(filter, action, call, 0) || seccomp_load(filter)) {
		fputs("filtered: the filter cannot be loaded\n", stderr);
		return 1;
	}
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 1;
}
