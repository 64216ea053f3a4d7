/* SPDX-License-Identifier: Apache-2.0 */
/* Who a process is and what it does with signals, from /proc/PID/status and /proc/PID/stat. */
#pragma once

#include "base/types.h"

/* /proc/PID/stat counts starttime in ticks of 10 ms (USER_HZ is 100 on every architecture). */
#define PROC_TICK_NS 10000000ull

struct proc_status {
	pid_t pid;
	pid_t tgid;   /* of the process; another one than pid if that is a thread's */
	pid_t nspid;  /* in the innermost pid namespace of the process */
	int nr_nspid; /* how many pid namespaces see it; > 1: it is in a nested one */
	pid_t parent_pid;
	uid_t uid, euid, fsuid; /* as this process sees them */
	gid_t gid, egid, fsgid;
	char state;                 /* 'R', 'S', 'D', 'T', 't', 'Z', ... of the leading thread */
	u64 sigcgt, sigign, shdpnd; /* bit n - 1 stands for signal n */
	u64 start_ns; /* CLOCK_BOOTTIME, cut to PROC_TICK_NS; the same for every reader */
	char comm[17];
};

/* -ESRCH if there is no such process; -EBADMSG if the kernel's text lacks a field. */
int proc_status_read(pid_t pid, struct proc_status *out);

/* The parser behind it, on the text of the two files. */
int proc_status_parse(const char *status, const char *stat, struct proc_status *out);

/* Whether a start in ns (from BPF: group_leader->start_boottime) is that of /proc at its tick. */
static inline bool proc_same_start(u64 a_ns, u64 b_ns)
{
	return a_ns / PROC_TICK_NS == b_ns / PROC_TICK_NS;
}
