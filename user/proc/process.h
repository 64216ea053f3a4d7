/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of the node: read from /proc once, then kept by what the kernel reports. A process
 * is (pid, start time), so that a PID that is used again is another process; one that has ended
 * stays until processes_reap, for the samples that are still on their way.
 */
#pragma once

#include "base/dict.h"
#include "proc/container.h"
#include "proc/mapping.h"

#define PROCESS_COMM_LEN 16

struct process {
	pid_t pid;
	u64 start_ns;   /* CLOCK_BOOTTIME; of /proc in clock ticks only: proc_same_start */
	u64 exit_ns;    /* CLOCK_MONOTONIC, 0 while it runs */
	u64 program_ns; /* CLOCK_BOOTTIME when it executed its program; start_ns if nobody saw it */
	char comm[PROCESS_COMM_LEN];
	struct mappings mappings; /* executable ones */
	size_t nr_mappings_read;  /* when they were read last */
	bool mappings_stale;      /* events were lost or too many: read again before use */
	const struct container
		*container; /* as of container_ns; NULL if in none; children inherit it */
	u64 container_ns;   /* CLOCK_MONOTONIC when it was looked for; 0: not yet */
	bool is_jvm;        /* maps a libjvm.so */
	/*
	 * Which JVM knows its code: itself, or, while it executes nothing else, the one that forked
	 * it. Children that JVMs start are such forks for a moment.
	 */
	pid_t jvm_pid;
	u64 jvm_start_ns;
	bool is_target;     /* its samples are wanted */
	bool has_samples;   /* under comm */
	struct dict frames; /* the symbolizer's cache pc -> frame; emptied when mappings change */
	struct process *older; /* an earlier process of the same PID */
};

struct processes;

struct processes *processes_new(void);
void processes_free(struct processes *all);

/* Reads every process of /proc. Returns how many there are, or a negative errno. */
int processes_scan(struct processes *all);

/*
 * The process; one that is not known yet is read from /proc, and if it is gone from there too it
 * has `comm` for a name and no mappings. Never NULL; valid until processes_reap.
 */
struct process *processes_get(struct processes *all, pid_t pid, u64 start_ns, const char *comm);

/* The newest process of that PID, NULL if unknown. */
struct process *processes_newest(const struct processes *all, pid_t pid);

/* The process of that PID and start, NULL if unknown. */
struct process *processes_find(const struct processes *all, pid_t pid, u64 start_ns);

/* A child begins with what its parent has mapped. Returns the child. */
struct process *processes_fork(struct processes *all, pid_t parent, pid_t pid, u64 start_ns,
			       const char *comm);

/* Whether it is a JVM in its own right. */
static inline bool process_is_whole_jvm(const struct process *p)
{
	return p->is_jvm && p->jvm_pid == p->pid && p->jvm_start_ns == p->start_ns;
}

/* It executes another program: its mappings are gone. */
void process_exec(struct process *p);

/*
 * Its main thread has that name from now on. That names the process until it has samples: then it
 * keeps its name until it executes another program, as a worker that writes there what it is at
 * would be hundreds of processes in a profile.
 */
void process_rename(struct process *p, const char *comm);

/*
 * It mapped executable memory; `m` is copied. What it unmaps nobody reports, so when these are many
 * more than were read last, they are stale instead.
 */
void process_mmap(struct process *p, const struct mapping *m);

/* Reports were lost: every process's mappings are read again before they are used. */
void processes_distrust(struct processes *all);

/* The container it is in, looked for anew now and then; NULL if none. */
const struct container *process_container(struct process *p, struct containers *all);

/* Brings mappings_stale ones up to date. */
void process_refresh(struct process *p);

typedef void (*process_fn)(struct process *p, void *ctx);

/* Forgets the processes that ended before `time_ns`, telling `gone` (may be NULL) of each. */
void processes_reap(struct processes *all, u64 time_ns, process_fn gone, void *ctx);

/* Calls `visit` for every process, in no particular order. */
void processes_each(struct processes *all, process_fn visit, void *ctx);
