/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity of a process, PID and start time, because a PID alone may be reused; and the facts
 * in /proc/PID/status and /proc/PID/stat.
 */
#pragma once

#include "base/dict.h"
#include "base/types.h"

/* /proc/PID/stat counts starttime in ticks of 10 ms (USER_HZ is 100 on every architecture). */
#define PROC_TICK_NS 10000000ull

struct process_id {
	pid_t pid;
	u64 start_ns; /* CLOCK_BOOTTIME, of the main thread; read from /proc it is rounded down to a
			 tick */
};

/* Compares start times by ticks: BPF reports them exactly (group_leader->start_boottime). */
static inline bool process_id_same(struct process_id a, struct process_id b)
{
	return a.pid == b.pid && a.start_ns / PROC_TICK_NS == b.start_ns / PROC_TICK_NS;
}

/* A hash of the id: equal for ids that are the same. */
static inline u64 process_id_hash(struct process_id id)
{
	return hash_u64((u64)id.pid ^ hash_u64(id.start_ns / PROC_TICK_NS));
}

struct proc_status {
	pid_t pid;
	pid_t tgid;   /* PID of its process; differs from `pid` if that is a thread's id */
	pid_t nspid;  /* in the innermost pid namespace of the process */
	int nr_nspid; /* number of pid namespaces that see it; > 1: it is in a nested one */
	pid_t parent_pid;
	uid_t uid, euid, fsuid; /* as this process sees them */
	gid_t gid, egid, fsgid;
	char state;                 /* 'R', 'S', 'D', 'T', 't', 'Z', ... of the main thread */
	u64 sigcgt, sigign, shdpnd; /* bit n - 1 stands for signal n */
	u64 permitted;              /* capabilities */
	u32 nr_threads;
	bool is_kernel_thread;
	u64 start_stack; /* sp at which its first thread began; 0 if the kernel hides it */
	u64 start_ns; /* CLOCK_BOOTTIME, rounded down to PROC_TICK_NS; the same for every reader */
	char comm[17];
};

static inline struct process_id proc_status_id(const struct proc_status *s)
{
	return (struct process_id){ s->pid, s->start_ns };
}

/* -ESRCH if the process is missing; -EBADMSG if the kernel's text lacks a field. */
int proc_status_read(pid_t pid, struct proc_status *out);

/* Whether the process is gone, or has ended and nobody has collected it. start_ns 0: any. */
bool proc_has_ended(struct process_id id);

/* Parses a PID or TID. Returns 0 if the text is anything but a number from 1 to INT32_MAX. */
pid_t proc_pid_parse(const char *text);

/*
 * Returns the TID of a running thread other than the main one, or 0 if there is none. After the
 * main thread has ended, /proc/PID has no mappings, files and root; /proc/TID still has them.
 */
pid_t proc_other_thread(pid_t pid);

/* The parser of proc_status_read, for the texts of the two files. */
int proc_status_parse(const char *status, const char *stat, struct proc_status *out);
