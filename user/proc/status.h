/* SPDX-License-Identifier: Apache-2.0 */
/* A process's identity and signal state, from /proc/PID/status and /proc/PID/stat. */
#pragma once

#include "proc/process_id.h"

struct proc_status {
	pid_t pid;
	pid_t tgid;   /* id of its process; differs from pid if pid is a thread's */
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
