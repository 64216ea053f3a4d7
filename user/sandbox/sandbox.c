/* SPDX-License-Identifier: Apache-2.0 */
/* The rights of a worker. */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/types.h"

#define NOBODY    65534
#define UID_FIRST 0x70000000u /* above the ranges of systems and containers */
#define UID_NR    0x0fffff00u

static void limit(int what, u64 most)
{
	const struct rlimit value = { most, most };

	setrlimit(what, &value);
}

/* Pages of data, which RLIMIT_DATA limits: the sixth number of statm (proc_pid_statm(5)). */
static u64 data_bytes(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%*u %*u %*u %*u %*u %llu", &pages) != 1)
		pages = 0;
	fclose(f);
	return pages * (u64)sysconf(_SC_PAGESIZE);
}

static void limit_resources(u64 bytes, u64 cpu_s)
{
	if (cpu_s)
		limit(RLIMIT_CPU, cpu_s);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_NOFILE, 64);
	limit(RLIMIT_DATA, data_bytes() + bytes);
}

static int become(u32 id)
{
	return setgroups(0, NULL) || setresgid(id, id, id) || setresuid(id, id, id) ? -errno : 0;
}

/*
 * Processes of the same user may stop and kill each other, so this one becomes a user of its own.
 * In a user namespace that id may not exist.
 */
static void change_ids(void)
{
	u32 number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number) ||
	    become(UID_FIRST + number % UID_NR))
		become(NOBODY);
}

int sandbox_drop_rights(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { 0 };

	for (int cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		prctl(PR_CAPBSET_DROP, cap);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	change_ids();
	if (syscall(SYS_capset, &head, none) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_DUMPABLE, 0))
		return -errno;
	return 0;
}

/* System calls that parsers and their libraries need. */
static const int allowed[] = {
	SCMP_SYS(read),       SCMP_SYS(pread64),         SCMP_SYS(lseek),
	SCMP_SYS(fstat),      SCMP_SYS(close),           SCMP_SYS(munmap),
	SCMP_SYS(mremap),     SCMP_SYS(madvise),         SCMP_SYS(brk),
	SCMP_SYS(recvmsg),    SCMP_SYS(sendmsg),         SCMP_SYS(clock_gettime),
	SCMP_SYS(getrandom),  SCMP_SYS(futex),           SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sysinfo),    SCMP_SYS(restart_syscall), SCMP_SYS(exit),
	SCMP_SYS(exit_group),
#ifdef __SANITIZE_ADDRESS__
	SCMP_SYS(write),      SCMP_SYS(sched_yield),     SCMP_SYS(getpid),
	SCMP_SYS(gettid),     SCMP_SYS(sigaltstack),     SCMP_SYS(rt_sigprocmask),
#endif
};

/*
 * System calls that no parser ever makes: a process that makes one was taken over, and is killed.
 * Other forbidden calls just fail.
 */
static const int fatal[] = {
	SCMP_SYS(socket),
	SCMP_SYS(connect),
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(openat2),
	SCMP_SYS(creat),
	SCMP_SYS(clone),
	SCMP_SYS(clone3),
	SCMP_SYS(fork),
	SCMP_SYS(vfork),
	SCMP_SYS(kill),
	SCMP_SYS(tkill),
	SCMP_SYS(tgkill),
	SCMP_SYS(ptrace),
	SCMP_SYS(bpf),
	SCMP_SYS(mount),
	SCMP_SYS(pidfd_open),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(unlinkat),
	SCMP_SYS(renameat2),
	SCMP_SYS(perf_event_open),
};

static int add_rules(scmp_filter_ctx filter)
{
	const struct scmp_arg_cmp no_exec = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	const struct scmp_arg_cmp exec = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC);
	static const int memory[] = { SCMP_SYS(mmap), SCMP_SYS(mprotect) };
	int err = 0;

	for (size_t i = 0; !err && i < ARRAY_SIZE(allowed); i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; !err && i < ARRAY_SIZE(fatal); i++)
		err = seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, fatal[i], 0);
	for (size_t i = 0; !err && i < ARRAY_SIZE(memory); i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, memory[i], 1, no_exec)
			      ?: seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, memory[i], 1,
						  exec);
	/* fstat(2) of a recent glibc: of the descriptor itself, the path is empty. */
	return err
		       ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1,
					   SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH));
}

static int filter_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));

	if (!filter)
		return -ENOMEM;
	int err = add_rules(filter) ?: seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

int sandbox_enter(u64 bytes, u64 cpu_s)
{
	pid_t parent = getppid();

	limit_resources(bytes, cpu_s);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -errno;
	if (getppid() != parent)
		return -ESRCH;
	return filter_calls();
}
