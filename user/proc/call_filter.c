/* SPDX-License-Identifier: Apache-2.0 */
/* The seccomp filters of the recorder and of its privileged processes. */
#include "proc/call_filter.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/socket.h>

/* No process of a recording needs these. */
static const int never[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(reboot),
	SCMP_SYS(swapon),
	SCMP_SYS(swapoff),
	SCMP_SYS(acct),
	SCMP_SYS(quotactl),
	SCMP_SYS(quotactl_fd),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(keyctl),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	SCMP_SYS(iopl),
	SCMP_SYS(ioperm),
	SCMP_SYS(syslog), /* it can also clear the kernel's log */
	SCMP_SYS(sethostname),
	SCMP_SYS(setdomainname),
	SCMP_SYS(settimeofday),
	SCMP_SYS(clock_settime),
	SCMP_SYS(clock_adjtime),
	SCMP_SYS(adjtimex),
	SCMP_SYS(mknod),
	SCMP_SYS(mknodat),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(io_uring_setup), /* its operations bypass seccomp */
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register),
	SCMP_SYS(vhangup),
};

/* Only the attach helper needs these. */
static const int only_attach[] = {
	SCMP_SYS(mount),         SCMP_SYS(umount2),  SCMP_SYS(move_mount), SCMP_SYS(open_tree),
	SCMP_SYS(fsopen),        SCMP_SYS(fsconfig), SCMP_SYS(fsmount),    SCMP_SYS(fspick),
	SCMP_SYS(mount_setattr), SCMP_SYS(setns),    SCMP_SYS(unshare),    SCMP_SYS(fork),
	SCMP_SYS(vfork),         SCMP_SYS(bind),     SCMP_SYS(listen),     SCMP_SYS(pidfd_getfd),
};

/* Clients of the network need these, too. The opener needs them for the sockets of runtimes. */
static const int only_network[] = { SCMP_SYS(socket), SCMP_SYS(connect) };

/* Of all but the attach helper only the web process accepts connections. */
static const int only_web[] = { SCMP_SYS(accept), SCMP_SYS(accept4) };
static const int not_web[] = { SCMP_SYS(kill), SCMP_SYS(pidfd_open), SCMP_SYS(process_vm_readv) };

/* These attach BPF programs and events, which only the recorder does. */
static const int only_recorder[] = {
	SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open),
};

/* The only calls that PRIVILEGED_MEMORY may make. */
static const int for_memory[] = {
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(futex),
	SCMP_SYS(recvfrom),
	SCMP_SYS(sendto),
	SCMP_SYS(prctl),
	SCMP_SYS(getppid),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(close),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
#ifdef __SANITIZE_ADDRESS__
	SCMP_SYS(mmap),
	SCMP_SYS(munmap),
	SCMP_SYS(write),
	SCMP_SYS(madvise),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sigaltstack),
#endif
};

#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)

static int add_calls(scmp_filter_ctx filter, u32 action, const int *calls, size_t nr)
{
	int err = 0;

	for (size_t i = 0; !err && i < nr; i++)
		err = seccomp_rule_add(filter, action, calls[i], 0);
	return err;
}

static int forbid(scmp_filter_ctx filter, const int *calls, size_t nr)
{
	return add_calls(filter, SCMP_ACT_ERRNO(EPERM), calls, nr);
}

/*
 * Allows threads. seccomp cannot read the flags of clone3; after ENOSYS the C library uses clone.
 */
static int forbid_processes(scmp_filter_ctx filter)
{
	return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0)
		       ?: seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
					   SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
}

static int limit_connections(scmp_filter_ctx filter, enum privileged process)
{
	switch (process) {
	case PRIVILEGED_ATTACH:
	case PRIVILEGED_NETWORK:
		return 0;
	case PRIVILEGED_OPENER:
		return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
					SCMP_A0(SCMP_CMP_NE, AF_UNIX));
	default:
		return forbid(filter, only_network, ARRAY_SIZE(only_network));
	}
}

static int add_rules(scmp_filter_ctx filter, enum privileged process)
{
	int err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1)
			  ?: forbid(filter, never, ARRAY_SIZE(never));

	if (!err && process != PRIVILEGED_ATTACH)
		err = forbid(filter, only_attach, ARRAY_SIZE(only_attach))
			      ?: forbid_processes(filter);
	if (!err)
		err = limit_connections(filter, process);
	if (!err && (process == PRIVILEGED_WEB || process == PRIVILEGED_NETWORK))
		err = forbid(filter, not_web, ARRAY_SIZE(not_web));
	if (!err && process != PRIVILEGED_WEB && process != PRIVILEGED_ATTACH)
		err = forbid(filter, only_web, ARRAY_SIZE(only_web));
	if (!err && process != PRIVILEGED_RECORDER)
		err = forbid(filter, only_recorder, ARRAY_SIZE(only_recorder));
	return err;
}

/* Also allows forks, but not into new namespaces. */
static int allow_for_memory(scmp_filter_ctx filter)
{
	return add_calls(filter, SCMP_ACT_ALLOW, for_memory, ARRAY_SIZE(for_memory))
		       ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
					   SCMP_A0(SCMP_CMP_MASKED_EQ, NAMESPACES, 0));
}

int call_filter_load(enum privileged process)
{
	const bool is_memory = process == PRIVILEGED_MEMORY;
	scmp_filter_ctx filter = seccomp_init(is_memory ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW);

	if (!filter)
		return -ENOMEM;
	int err = (is_memory ? allow_for_memory(filter) : add_rules(filter, process))
			  ?: seccomp_load(filter);
	seccomp_release(filter);
	return err;
}
