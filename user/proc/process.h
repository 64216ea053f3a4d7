/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of the node, read from /proc once and then updated from the kernel's events. A
 * process is (pid, start time): a reused PID is another process. A process that ended stays until
 * processes_reap, because some of its samples may still arrive.
 */
#pragma once

#include "base/dict.h"
#include "proc/container.h"
#include "proc/context.h"
#include "proc/mapping.h"
#include "proc/status.h"
#include "proc/target_file.h"

#define PROCESS_COMM_LEN 16

struct processes;

/*
 * Names from the process's memory and its container (jvm/process/process_names.h). Texts are owned
 * and clean; NULL: unknown.
 */
struct process_names {
	char *main_class;    /* of a JVM: a class or jar */
	char *own_service;   /* in its environment */
	char *main;          /* main_class, else the program's name */
	char *service, *jvm; /* made of the names above; `jvm` is for people */
	char *container;     /* the container's name that they were made with, not clean */
	bool is_kernel;      /* a thread of the kernel */
	/* bits of the facts that the last read could use; 0: nothing was read */
	u32 facts;
	u32 nr_context_changes; /* of the context that they were made with */
	u64 again_ns;           /* CLOCK_MONOTONIC, when a failed read is repeated; 0: never */
	u64 pause_ns;           /* until then */
};

struct process {
	struct process_id id;
	struct processes *all; /* the table that holds it */
	pid_t parent;          /* when it was first seen; 0: unknown */
	u64 exit_ns;           /* CLOCK_MONOTONIC, 0 while it is running */
	u64 program_ns;        /* CLOCK_BOOTTIME of its last exec; start_ns if no exec was seen */
	char comm[PROCESS_COMM_LEN];
	uid_t uid; /* the real user when last seen, who is charged for the mappings */
	struct mappings mappings;    /* executable ones; those of `block` */
	struct mapping_block *block; /* NULL: no mappings */
	u64 mappings_version;        /* changes whenever they do */
	size_t nr_mappings_read;     /* their number when they were last read */
	bool mappings_stale;         /* events were lost or too many: read them again before use */
	u64 left_out_ns; /* CLOCK_MONOTONIC, when there was no room for all of them; 0: never */
	const struct container
		*container; /* container at container_ns; NULL if in none; children inherit it */
	u64 container_ns;   /* CLOCK_MONOTONIC of the last lookup; 0: none yet */
	bool is_jvm;        /* it maps a libjvm.so */
	/*
	 * The JVM that knows its code: itself, or the JVM that forked it until it executes a
	 * program. Children that a JVM starts are such forks for a moment.
	 */
	struct process_id jvm;
	struct process_names names; /* of the program that it executes */
	struct process_context context;
	bool has_samples;      /* the present program has samples in a profile */
	bool has_side_exec;    /* process_exec was called for the exec that is reported next */
	bool keeps_comm;       /* process_keep_name was called for this comm */
	struct process *older; /* an earlier process of the same PID */
};

struct processes *processes_new(void);
/* The number of processes, and the memory of their mappings. */
size_t processes_nr(const struct processes *all);
size_t processes_bytes(const struct processes *all);
void processes_free(struct processes *all);

/* Reads every process of /proc. Returns their number or a negative errno. */
int processes_scan(struct processes *all);

/*
 * Finds the process, or reads an unknown one from /proc. If it is gone from there, it gets the name
 * `comm` and no mappings. Never NULL; valid until processes_reap.
 */
struct process *processes_get(struct processes *all, struct process_id id, const char *comm);

/* The newest process with that PID, or NULL. */
struct process *processes_newest(const struct processes *all, pid_t pid);

/* The process with that PID and start, or NULL. */
struct process *processes_find(const struct processes *all, struct process_id id);

/* Records a fork; a child begins with its parent's mappings and user. Returns the child. */
struct process *processes_fork(struct processes *all, pid_t parent, struct process_id id,
			       const char *comm);

/*
 * The ancestors whose end is not known. Parents are those of each process's first moment: a process
 * whose parent ends gets another, which is no ancestor.
 */
struct ancestors process_ancestors(const struct process *p);

/* Records the process's real user. */
void process_set_user(struct process *p, uid_t uid);

/* Processes whose mappings are not all known, because their users' share of memory is used up. */
struct processes_left_out {
	u64 nr;
	uid_t uid; /* the first one's */
	pid_t pid;
	char comm[PROCESS_COMM_LEN];
};
const struct processes_left_out *processes_left_out(const struct processes *all);

/* Whether the process is a JVM itself and not a fork of one. */
static inline bool process_is_whole_jvm(const struct process *p)
{
	return p->is_jvm && p->jvm.pid == p->id.pid && p->jvm.start_ns == p->id.start_ns;
}

/*
 * Records an exec at that time of CLOCK_BOOTTIME: its previous mappings are gone. process_set_name
 * follows.
 */
void process_exec(struct process *p, u64 boot_ns);

/* Records the name of the program that it executes. */
void process_set_name(struct process *p, const char *comm);

/*
 * Records a new name of its main thread. It has no effect after process_keep_name, until the next
 * process_set_name. A worker that writes its current job into its name would otherwise become
 * hundreds of processes in a profile.
 */
void process_rename(struct process *p, const char *comm);
void process_keep_name(struct process *p);

/*
 * Records a mapping of executable memory and copies `m`. The kernel does not report unmapping. If
 * many mappings were added since the last read, they are marked stale instead.
 */
void process_mmap(struct process *p, const struct mapping *m);

/* Marks the mappings of every process as stale after events were lost. */
void processes_distrust(struct processes *all);

/* The container of the process, looked up again from time to time; NULL if it is in none. */
const struct container *process_container(struct process *p, struct containers *all);

/*
 * The start of the process's first mapping whose path begins with one of the names; 0 if it has
 * none. Looks at all mappings, not only executable ones. -EAGAIN if such searches have taken too
 * much of the time, and an error of mappings_read_within.
 */
int process_find_mapping(struct process *p, const char *const *names, size_t nr, u64 *out);

/*
 * Reads all mappings of the process, not only executable ones, within the limits of
 * process_find_mapping. The caller owns *out.
 */
int process_read_mappings(struct process *p, struct mappings *out);

/*
 * Counts the CPU time of more work for a search among the mappings, as process_find_mapping counts
 * its own. Work that took long is charged to the process's user instead, and takes no time from
 * other users.
 */
void process_charge_search(const struct process *p, u64 took_ns, u64 worked_ns);

/* Reads the mappings again if they are stale. */
void process_refresh(struct process *p);

typedef void (*process_fn)(struct process *p, void *ctx);

/* Forgets the processes that ended before `time_ns`. Calls `gone` (may be NULL) for each. */
void processes_reap(struct processes *all, u64 time_ns, process_fn gone, void *ctx);

/*
 * Visits the processes that have ended although nothing reported it. Looks at each once, which
 * takes some 2 us.
 */
void processes_find_lost(struct processes *all, process_fn lost, void *ctx);

/* Calls `visit` for every process, in no particular order. */
void processes_each(struct processes *all, process_fn visit, void *ctx);

/* The parts of a process that user space reads. Each one needs another right. */
enum reading {
	READING_NOTHING,
	READING_MAPPINGS,
	READING_MEMORY,
	READING_FILES, /* the file that is mapped at a pc */
	NR_READINGS
};

/* The capabilities that are missing to read this part; 0 if it can be read. */
u64 reading_lacks(enum reading reading, const struct process *p, u64 pc);
