/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rights of this process: its capabilities, and filters of system calls and files. And a
 * process with almost no rights, with the one that starts it again.
 */
#include "sandbox/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"

/* The capabilities that actions of sysflame may need. */
struct name {
	int number;
	const char *text;
};

static const struct name names[] = {
	{ CAP_BPF, "CAP_BPF" },
	{ CAP_PERFMON, "CAP_PERFMON" },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
	{ CAP_SETUID, "CAP_SETUID" },
	{ CAP_SETGID, "CAP_SETGID" },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH" },
	{ CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE" },
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
	{ CAP_SYSLOG, "CAP_SYSLOG" },
	{ CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE" },
	{ CAP_SYS_NICE, "CAP_SYS_NICE" },
	{ CAP_SYS_CHROOT, "CAP_SYS_CHROOT" },
	{ CAP_FOWNER, "CAP_FOWNER" },
};

static int get(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &head, data) ? -errno : 0;
}

u64 capabilities_read(void)
{
	struct __user_cap_data_struct data[2] = { 0 };

	return get(data) ? 0 : data[0].effective | (u64)data[1].effective << 32;
}

bool capability_has(int number)
{
	return capabilities_read() & CAPABILITY(number);
}

int capabilities_set(u64 effective)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	int err = get(data);

	if (err)
		return err;
	data[0].effective = (u32)effective & data[0].permitted;
	data[1].effective = (u32)(effective >> 32) & data[1].permitted;
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

int capabilities_keep(u64 kept)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	int err = get(data);

	if (err)
		return err;
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (u32)(kept >> (32 * i));
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

const char *capability_name(int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].number == number)
			return names[i].text;
	return "";
}

/* Yama refuses PTRACE_MODE_ATTACH, which reads of memory need, whatever the capabilities. */
static bool nobody_may_trace(void)
{
	auto_free char *text = NULL;
	size_t len;

	return !file_read("/proc/sys/kernel/yama/ptrace_scope", 16, &text, &len) && text[0] == '3';
}

void capabilities_add_remedy(struct str *out, u64 wanted)
{
	u64 missing = wanted & ~capabilities_read();
	const char *separator = "";

	if (!missing && wanted & CAPABILITY(CAP_SYS_PTRACE) && nobody_may_trace()) {
		str_add(out, "kernel.yama.ptrace_scope is 3, which forbids it to every process "
			     "until the next boot; set 2 there, or use Linux 6.2 or newer, where a "
			     "BPF program reads the memory of JVMs");
		return;
	}
	if (!missing) {
		str_add(out, "sysflame has the capabilities for it; check whether a user "
			     "namespace, a security module or seccomp forbids it");
		return;
	}
	str_add(out, "run sysflame with ");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!(missing & CAPABILITY(names[i].number)))
			continue;
		missing &= ~CAPABILITY(names[i].number);
		str_addf(out, "%s%s", separator, names[i].text);
		separator = missing & (missing - 1) ? ", " : " and ";
	}
}

#define RECORDER(number, stand_in, purpose)                                                        \
	{                                                                                          \
		PRIVILEGED_RECORDER, number, stand_in, PRIVILEGE_ALWAYS, "sysflame", purpose, NULL \
	}
#define RECORDER_IF(reason, number, purpose, words)                                 \
	{                                                                           \
		PRIVILEGED_RECORDER, number, -1, reason, "sysflame", purpose, words \
	}
#define ATTACH(number, stand_in, purpose)                                                          \
	{                                                                                          \
		PRIVILEGED_ATTACH, number, stand_in, PRIVILEGE_ALWAYS, "sysflame-attach", purpose, \
			NULL                                                                       \
	}
#define OPENER(number, stand_in, purpose)                                                          \
	{                                                                                          \
		PRIVILEGED_OPENER, number, stand_in, PRIVILEGE_ALWAYS, "sysflame-opener", purpose, \
			NULL                                                                       \
	}

static const struct privilege table[] = {
	RECORDER(CAP_BPF, CAP_SYS_ADMIN, "BPF programs and their maps"),
	RECORDER(CAP_PERFMON, CAP_SYS_ADMIN, "perf events, also of CPUs that come later; probes"),
	RECORDER(CAP_SYS_PTRACE, -1, "memory, mappings and roots of processes"),
	RECORDER(CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, "files of other users; tracefs"),
	RECORDER(CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, "mapped files, by map_files"),
	RECORDER(CAP_SYSLOG, -1, "kernel names"),
	RECORDER(CAP_SYS_NICE, -1, "its priority while it is behind"),
	RECORDER_IF(PRIVILEGE_UPROBES, CAP_SYS_ADMIN, "uprobes", "before Linux 6.10"),
	RECORDER_IF(PRIVILEGE_PARANOID, CAP_SYS_ADMIN, "perf events",
		    "while perf_event_paranoid is above 2"),
	RECORDER_IF(PRIVILEGE_MEASURE, CAP_SYS_ADMIN, "run time of BPF programs", "with --measure"),
	RECORDER_IF(PRIVILEGE_OUTPUT, CAP_DAC_OVERRIDE, "the output",
		    "if another user owns its folder"),
	RECORDER_IF(PRIVILEGE_OUTPUT, CAP_FOWNER, "the output", "if another user owns its folder"),
	ATTACH(CAP_SYS_ADMIN, -1, "mounts the agent's file into containers"),
	ATTACH(CAP_SYS_CHROOT, -1, "enters their mount namespaces for it"),
	ATTACH(CAP_SETUID, -1, "acts as the user of a JVM"),
	ATTACH(CAP_SETGID, -1, "acts as the group of a JVM"),
	ATTACH(CAP_SYS_PTRACE, -1, "memory, root and descriptors of JVMs"),
	ATTACH(CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, "files of JVMs"),
	ATTACH(CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, "mapped files, by map_files"),
	OPENER(CAP_SETUID, -1, "opens files as the user of a process"),
	OPENER(CAP_SETGID, -1, "opens files as the group of a process"),
	OPENER(CAP_SYS_PTRACE, -1, "roots and mappings of processes"),
	OPENER(CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, "files of other users"),
	OPENER(CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, "mapped files, by map_files"),
	{ PRIVILEGED_MEMORY, CAP_SYS_PTRACE, -1, PRIVILEGE_ALWAYS, "sysflame-memory",
	  "memory of processes", NULL },
};

void privileges_each(privilege_fn visit, void *ctx)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		visit(&table[i], ctx);
}

u64 privileges_of(enum privileged process, u32 reasons, u64 held)
{
	u64 kept = 0;

	for (const struct privilege *p = table; p < table + ARRAY_SIZE(table); p++) {
		u64 wanted = CAPABILITY(p->number);
		if (p->process != process || (p->reason && !(p->reason & reasons)))
			continue;
		if (!(held & wanted) && p->stand_in >= 0)
			wanted = CAPABILITY(p->stand_in);
		kept |= held & wanted;
	}
	return kept;
}

/* Without CAP_SETPCAP the bounding set stays. It grants nothing by itself. */
static void bound(u64 kept)
{
	for (int number = 0; prctl(PR_CAPBSET_READ, number) >= 0; number++)
		if (!(kept & CAPABILITY(number)))
			prctl(PR_CAPBSET_DROP, number);
}

void precedence_take(void)
{
	const struct sched_param lowest = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_RR, &lowest))
		setpriority(PRIO_PROCESS, 0, -20);
}

int privileges_keep(enum privileged process, u32 reasons)
{
	u64 kept = privileges_of(process, reasons, capabilities_read());

	bound(kept);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	int err = capabilities_keep(kept);
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	return err;
}

/* System calls that no process of a recording needs. */
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

/* System calls that only the attach helper needs. */
static const int only_attach[] = {
	SCMP_SYS(mount),         SCMP_SYS(umount2),  SCMP_SYS(move_mount), SCMP_SYS(open_tree),
	SCMP_SYS(fsopen),        SCMP_SYS(fsconfig), SCMP_SYS(fsmount),    SCMP_SYS(fspick),
	SCMP_SYS(mount_setattr), SCMP_SYS(setns),    SCMP_SYS(unshare),    SCMP_SYS(fork),
	SCMP_SYS(vfork),         SCMP_SYS(bind),     SCMP_SYS(listen),     SCMP_SYS(pidfd_getfd),
};

/* For clients of the network, and for the opener, which asks container runtimes. */
static const int only_network[] = { SCMP_SYS(socket), SCMP_SYS(connect) };

/* Only the web process and the attach helper accept connections. */
static const int only_web[] = { SCMP_SYS(accept), SCMP_SYS(accept4) };
/* The web process and clients of the network may not act on other processes. */
static const int not_web[] = { SCMP_SYS(kill), SCMP_SYS(pidfd_open), SCMP_SYS(process_vm_readv) };

/* System calls that attach BPF programs and perf events: only the recorder makes them. */
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

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE                                                             \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
	 LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |    \
	 LANDLOCK_ACCESS_FS_MAKE_DIR)
/* All rights of the first version of Landlock; those not granted are denied. */
#define ALL ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

static int grant(int rules, int at, u64 access)
{
	const struct landlock_path_beneath_attr rule = { .allowed_access = access,
							 .parent_fd = at };

	return (int)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static int grant_path(int rules, const char *path)
{
	auto_close int at = open(path, O_PATH | O_CLOEXEC);

	/* The kernel refuses rights on a file that apply to folders only, such as READ_DIR. */
	if (at >= 0 && grant(rules, at, READ))
		return grant(rules, at, LANDLOCK_ACCESS_FS_READ_FILE);
	return 0;
}

int file_filter_load(const struct file_grant *grants, size_t nr)
{
	const struct landlock_ruleset_attr attr = { .handled_access_fs = ALL };
	auto_close int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

	if (rules < 0)
		return -errno;
	for (size_t i = 0; i < nr; i++) {
		const struct file_grant *g = &grants[i];
		int err = g->path ? grant_path(rules, g->path)
				  : grant(rules, g->fd, READ | (g->writes ? WRITE : 0));
		if (err)
			return -errno;
	}
	return syscall(SYS_landlock_restrict_self, rules, 0) ? -errno : 0;
}

#define SOCK_FD     3 /* in the process */
#define DELAY_FIRST 3 /* most seconds before the first restart */
#define DELAY_MAX   60

static void die_with_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

static void keep_only(int sock)
{
	if (sock != SOCK_FD)
		dup2(sock, SOCK_FD);
	fcntl(SOCK_FD, F_SETFD, 0);
	close_range(SOCK_FD + 1, ~0u, 0);
}

static pid_t start(guarded_fn run, const void *ctx)
{
	pid_t parent = getpid(), child = fork();

	if (child)
		return child;
	die_with_parent(parent);
	_exit(run(SOCK_FD, ctx));
}

static u32 random_below(u32 nr)
{
	u32 value = 0;

	if (getrandom(&value, sizeof(value), 0) != sizeof(value))
		return 0;
	return value % nr;
}

/*
 * Runs the process, and again after each crash. A process that keeps crashing is restarted after
 * growing pauses.
 */
static int guard(guarded_fn run, const void *ctx)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, "sysflame-guard");
	prctl(PR_SET_DUMPABLE, 0);
	for (u32 nr = 0;; nr++) {
		int status = 0;
		pid_t child = start(run, ctx);
		if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
		    !WEXITSTATUS(status))
			return 0;
		sleep(1 + random_below(nr ? DELAY_MAX : DELAY_FIRST));
	}
}

int guarded_start(guarded_fn run, const void *ctx, int *sock)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid_t parent = getpid(), child = fork();
	if (!child) {
		die_with_parent(parent);
		keep_only(ends[1]);
		_exit(guard(run, ctx));
	}
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return -EAGAIN;
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	*sock = ends[0];
	return 0;
}

int guarded_confine(const char *dir)
{
	/* Files that the C library and OpenSSL read to resolve names and to check servers. */
	const struct file_grant grants[] = {
		{ .path = "/etc/resolv.conf" },
		{ .path = "/etc/hosts" },
		{ .path = "/etc/nsswitch.conf" },
		{ .path = "/etc/gai.conf" },
		{ .path = "/etc/host.conf" },
		{ .path = "/etc/ssl" },
		{ .path = "/etc/pki" }, /* of Fedora, whose libraries are in lib64 */
		{ .path = "/etc/services" },
		{ .path = "/etc/ld.so.cache" },
		{ .path = "/usr/share/ca-certificates" },
		{ .path = "/run/systemd/resolve" },
		{ .path = "/lib" },
		{ .path = "/lib64" },
		{ .path = "/usr/lib" },
		{ .path = "/usr/lib64" },
		{ .path = "/var/lib/ca-certificates" }, /* of SUSE */
		{ .path = "/dev/urandom" },
		{ .path = dir },
	};
	int err = privileges_keep(PRIVILEGED_NETWORK, 0);

	if (err)
		return err;
	err = file_filter_load(grants, ARRAY_SIZE(grants) - !dir);
	if (err && err != -ENOSYS && err != -EOPNOTSUPP)
		return err;
	return call_filter_load(PRIVILEGED_NETWORK);
}
