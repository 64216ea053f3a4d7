/* SPDX-License-Identifier: Apache-2.0 */
/* The rights of this process, and its limit of open files. */
#include "capture/kernel/privilege.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "sandbox/rights.h"

#define WANTED  65536 /* processes with agents, and probes by process, of a large node */
#define PROGRAM 96    /* BPF programs and their maps, files that are open for a moment */
#define PER_CPU 3     /* a ring of the side band; one clock or counter for each event */
#define REMEDY  "raise it by ulimit -n or LimitNOFILE=, or record with CAP_SYS_RESOURCE"

/* The text for EMFILE with the limit and the remedy. */
static char error_text[256];

void descriptors_raise(u32 nr_events)
{
	u64 needed = PROGRAM + (u64)sysconf(_SC_NPROCESSORS_ONLN) * (PER_CPU + nr_events);
	struct rlimit limit, wanted;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	wanted.rlim_cur = wanted.rlim_max = limit.rlim_max > WANTED ? limit.rlim_max : WANTED;
	if (!setrlimit(RLIMIT_NOFILE, &wanted))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < needed)
		log_warn("this recording may need %llu open files, and the limit is %llu: " REMEDY,
			 (unsigned long long)needed, (unsigned long long)limit.rlim_cur);
}

const char *descriptors_error_text(int err)
{
	struct rlimit limit;

	if (err != -EMFILE || getrlimit(RLIMIT_NOFILE, &limit))
		return strerror(-err);
	snprintf(error_text, sizeof(error_text),
		 "%llu files are open, as many as the limit allows: " REMEDY,
		 (unsigned long long)limit.rlim_cur);
	return error_text;
}

bool descriptors_are_few(void)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < PROGRAM;
}

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"
#define LOCKDOWN   "/sys/kernel/security/lockdown"

/* CAP_SYS_ADMIN includes CAP_BPF and CAP_PERFMON, which Linux 5.8 split off. */
static bool may(int capability)
{
	return capability_has(capability) || capability_has(CAP_SYS_ADMIN);
}

int privilege_check(void)
{
	if (!may(CAP_BPF) || !may(CAP_PERFMON))
		return -EPERM;
	return access(KERNEL_BTF, R_OK) ? -ENOENT : 0;
}

bool privilege_is_locked_down(void)
{
	auto_free char *text = NULL;
	size_t len;

	return !file_read(LOCKDOWN, 256, &text, &len) && strstr(text, "[confidentiality]");
}

/*
 * Policies older than the class perf_event allow it to no domain, or allow only some of its
 * permissions.
 */
bool privilege_is_denied_by_policy(int err)
{
	auto_free char *text = NULL;
	size_t len;

	return (err == -EPERM || err == -EACCES) &&
	       !file_read("/sys/fs/selinux/enforce", 16, &text, &len) && text[0] == '1';
}

void privilege_explain(const char *what, int err)
{
	bool bpf = may(CAP_BPF), perfmon = may(CAP_PERFMON);

	if (!bpf || !perfmon)
		log_error("%s needs %s%s%s: run as root, or once: setcap cap_bpf,cap_perfmon+ep "
			  "on the sysflame binary",
			  what, bpf ? "" : "CAP_BPF", bpf || perfmon ? "" : " and ",
			  perfmon ? "" : "CAP_PERFMON");
	else if (access(KERNEL_BTF, R_OK))
		log_error("%s needs the kernel's type information, and " KERNEL_BTF
			  " cannot be read: use a kernel with CONFIG_DEBUG_INFO_BTF=y, as "
			  "distributions ship it, and mount /sys",
			  what);
	else if (privilege_is_locked_down())
		log_error("%s failed: " PRIVILEGE_LOCKDOWN, what);
	else if (privilege_is_denied_by_policy(err))
		log_error("%s is not permitted though the capabilities are "
			  "there: " PRIVILEGE_SELINUX,
			  what);
	else if (err == -EPERM || err == -EACCES)
		log_error("%s is not permitted though the capabilities are there: a container's "
			  "seccomp profile or kernel lockdown forbids it; allow bpf() and "
			  "perf_event_open()",
			  what);
	else if (err == -EMFILE || (err == -EINVAL && descriptors_are_few()))
		log_error("%s failed: %s", what, descriptors_error_text(-EMFILE));
	else
		log_error("%s failed: %s; -v shows the kernel's messages", what, strerror(-err));
}
