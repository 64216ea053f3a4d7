/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF programs of a recording: loads and attaches them, reads their records and counters. */
#pragma once

#include "abi.h"
#include "base/time.h"
#include "base/types.h"
#include "capture/kernel/receiver.h"
#include "capture/programs/node_programs.h"
#include "filter_abi.h"
#include "knobs.h"
#include "stat.h"

/* The cost of sampling in the kernel; all 0 unless measured. */
struct sampling_cost {
	u64 runs, run_ns;     /* of the BPF programs, including runs that took no sample */
	u64 walks, frames;    /* of user stacks, with our tables */
	u64 walk_ns;          /* of these walks */
	u64 frame_pointer_ns; /* of the kernel's walks in these samples; part of run_ns */
};

/*
 * The programs that events choose; the others belong to every recording.
 * X(NAME, name of the function in bpf/)
 */
#define PROGRAMS(X)                     \
	X(PERF_SAMPLE, perf_sample)     \
	X(TRACE_HIT, trace_hit)         \
	X(KPROBE_HIT, kprobe_hit)       \
	X(UPROBE_HIT, uprobe_hit)       \
	X(METHOD_HOOK, method_hook)     \
	X(JAVA_EVENT, java_event)       \
	X(ALLOC_GONE, alloc_gone)       \
	X(MEMORY_ALLOC, memory_alloc)   \
	X(MEMORY_ENTER, memory_enter)   \
	X(MEMORY_RETURN, memory_return) \
	X(MEMORY_FREE, memory_free)     \
	X(OFFCPU_BEGIN, offcpu_begin)   \
	X(OFFCPU_END, offcpu_end)       \
	X(OFFCPU_BACK, offcpu_back)     \
	X(OFFCPU_TASKS, offcpu_tasks)   \
	X(WINDOW_BEGIN, window_begin)   \
	X(WINDOW_END, window_end)

enum program {
	PROGRAM_NONE,
#define X(NAME, name) PROGRAM_##NAME,
	PROGRAMS(X)
#undef X
	NR_PROGRAMS
};

#define PROGRAM_BIT(NAME) (1u << PROGRAM_##NAME)

/* The programs that follow waits; offcpu_end and offcpu_back serve different kernels. */
#define PROGRAM_BITS_WAITS                                                                \
	(PROGRAM_BIT(OFFCPU_BEGIN) | PROGRAM_BIT(OFFCPU_END) | PROGRAM_BIT(OFFCPU_BACK) | \
	 PROGRAM_BIT(OFFCPU_TASKS))

struct programs_options {
	struct tables_fds tables; /* the node's, see node_programs.h */
	size_t ring_bytes;        /* 0: chosen from the number of CPUs and events */
	size_t cpu_bytes;         /* the ring's size for each CPU, if ring_bytes is 0 */
	size_t ring_bytes_max;    /* largest size of such a ring; 0: no limit */
	struct knobs knobs;       /* configured by capture/targets/targets.h and sources.h */
	u32 programs;             /* PROGRAM_BIT of each that the events need */
	u32 nr_slots;
};

struct programs;
struct bpf_link;
struct bpf_object;

/*
 * Loads the programs in a thread of its own, because the kernel takes long to verify them.
 * programs_load_end waits for it; only programs_free may be called before. On failure both log one
 * line with the missing right or feature and the remedy.
 */
int programs_load_begin(const struct programs_options *options, struct programs **out);
int programs_load_end(struct programs *bpf);
void programs_free(struct programs *bpf);

/*
 * Attach the sampling program to a perf event or tracepoint, for the recording's event of that
 * number. The program runs at once. The descriptor stays the caller's.
 */
int programs_attach_perf(struct programs *bpf, int perf_fd, u32 event, struct bpf_link **out);
int programs_attach_tracepoint(struct programs *bpf, const char *group, const char *name, u32 event,
			       struct bpf_link **out);

/*
 * Attaches the program to a function of the kernel, at its begin plus an offset or at its return.
 * -ENOENT if there is no such function, -EINVAL if the kernel forbids probes there.
 */
struct programs_kprobe {
	const char *function;
	u64 offset;
	bool at_return;
};
int programs_attach_kprobe(struct programs *bpf, const struct programs_kprobe *at, u32 event,
			   struct bpf_link **out);

/* Sets the filter of a tracepoint's event, before it is attached (bpf/filter_abi.h). */
int programs_set_filter(struct programs *bpf, u32 event, const struct filter *filter,
			const struct filter_pattern *patterns, u32 nr_patterns);

/* Attaches any of the uprobe programs, in one process or, with pid -1, in all. */
struct programs_uprobe {
	enum program program;
	const char *path;
	u64 file_off;
	u64 semaphore_off; /* of the counter to raise while attached; 0: none */
	u64 cookie;
	pid_t pid;
	bool at_return;
};
int programs_attach_program(struct programs *bpf, const struct programs_uprobe *at,
			    struct bpf_link **out);

/* Sets which of knobs.hierarchies have groups among the targets, as bits. */
void programs_use_hierarchies(struct programs *bpf, u32 mask);

/*
 * Calls `visit` for sampled memory that is not freed (bpf/events/live_allocs.h), with its process
 * and sample. Deletes the entries for which it returns true.
 */
typedef bool (*programs_live_fn)(pid_t pid, u32 tid, u64 sample_ns, void *ctx);
int programs_each_live(struct programs *bpf, programs_live_fn visit, void *ctx);

/*
 * Set or read the functions of an allocator's file. `number` is the file's number in the cookies of
 * its probes.
 */
int programs_set_memory_file(struct programs *bpf, u32 number, const struct memory_file *file);
int programs_memory_file(const struct programs *bpf, u32 number, struct memory_file *out);
void programs_detach(struct bpf_link *link);

/* whether the kernel lets us attach uprobes without CAP_SYS_ADMIN */
bool programs_can_attach_without_admin(void);

/* Begins to record which threads wait. For those already waiting the wait begins now. */
int programs_start_waits(struct programs *bpf);
bool programs_can_follow_waits(void);

/*
 * Sets the recording's window, [begin, end) in CLOCK_MONOTONIC; the end may be TIME_NEVER. Nothing
 * is sampled outside of it, or before the first call.
 */
void programs_set_window(struct programs *bpf, const struct span *window);

/*
 * After the window's end: visits every thread that has waited since before it. `is_last` marks the
 * last call. A thread that resumes before that call sends its sample itself.
 */
typedef void (*programs_blocked_fn)(const struct blocked_thread *p, void *ctx);
void programs_blocked(struct programs *bpf, bool is_last, programs_blocked_fn pending, void *ctx);

/*
 * Follows the targets across fork, exec and exit, if there are selectors. The node's programs must
 * be attached: their record of a fork or exec then precedes this recording's.
 */
int programs_attach_targets(struct programs *bpf);

bool programs_can_read_remote(void); /* whether the kernel has the functions for it (6.2) */

/* The maps of selectors; the values are masks of enum select. */
struct targets_fds {
	int pids, comms, users, cgroups;
};
struct targets_fds programs_targets(const struct programs *bpf);

/* Calls `visit` for every process that is a target, if there are selectors. */
typedef void (*programs_process_fn)(const struct task_id *id, void *ctx);
int programs_each_target(struct programs *bpf, programs_process_fn visit, void *ctx);

/* Selects running descendants of processes selected by PID. After programs_attach_targets. */
int programs_select_children(struct programs *bpf);

/* The BPF object, for programs that share its maps; valid as long as `bpf`. */
struct bpf_object *programs_object(const struct programs *bpf);

/*
 * How often the event's program ran, on each of the `nr` possible CPUs. programs_set_clock reports
 * the kernel's id of the perf event that samples on a CPU; 0: none.
 */
int programs_event_runs(const struct programs *bpf, u32 event, struct event_runs *out, u32 nr);
int programs_set_clock(struct programs *bpf, u32 event, int cpu, u64 id);

/* Sums `nr` and `nr_wanted` over CPUs. */
void programs_sum_runs(const struct programs *bpf, u32 event, struct event_runs *out);

/* See load_nr_declined. */
u64 programs_nr_declined(const struct programs *bpf, enum program program);

struct ring *programs_ring(const struct programs *bpf);

/* The counters, summed over CPUs; programs_event_counts has those of one event. */
void programs_stats(const struct programs *bpf, u64 stats[NR_STATS]);
void programs_event_counts(const struct programs *bpf, u32 event, u64 counts[NR_EVENT_COUNTS]);

bool programs_kernel_has(const char *tracepoint); /* whether that tracepoint exists */

/* Calls `visit` for the enumerators of the kernel's enum of that name. */
typedef void (*programs_enumerator_fn)(const char *name, s32 value, void *ctx);
void programs_kernel_enumerators(const char *name, programs_enumerator_fn visit, void *ctx);

/*
 * programs_measure has the kernel measure the sampling programs' run time from now on. Walks are
 * measured only with knobs.measure.
 */
int programs_measure(struct programs *bpf);
void programs_measured(const struct programs *bpf, struct sampling_cost *out);

/* The run time of all its programs so far, also of those that follow targets. */
u64 programs_run_ns(const struct programs *bpf);
