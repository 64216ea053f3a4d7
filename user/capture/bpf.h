/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF programs in the kernel: load, attach, read what they send. */
#pragma once

#include "abi.h"
#include "base/types.h"
#include "capture/cost.h"
#include "capture/tables.h"
#include "knobs.h"
#include "stat.h"

#define BPF_PROGRAMS 32

struct bpf_options {
	size_t ring_bytes;  /* 0: by the number of CPUs */
	bool remote_reads;  /* load the program that reads memory of others */
	struct knobs knobs; /* what capture/targets.h and sources.h configure */
	/* What the events need (capture/sources.h). */
	const char *programs[BPF_PROGRAMS]; /* that sample; NULL-terminated */
	u32 nr_slots;
};

struct bpf;
struct bpf_link;

/* Loads the programs; on failure logs one line that says what is missing and the remedy. */
int bpf_load(const struct bpf_options *options, struct bpf **out);
void bpf_free(struct bpf *bpf);

/*
 * Attach the program of their kind for the event of that number in the recording; it runs at once.
 * The descriptor stays the caller's.
 */
int bpf_attach_perf(struct bpf *bpf, int perf_fd, u32 event, struct bpf_link **out);
int bpf_attach_tracepoint(struct bpf *bpf, const char *group, const char *name, u32 event,
			  struct bpf_link **out);

/* The same for any of the uprobe programs, in one process or (pid -1) in all. */
struct bpf_uprobe {
	const char *program;
	const char *path;
	u64 file_off;
	u64 semaphore_off; /* of the counter to raise meanwhile; 0: none */
	u64 cookie;
	pid_t pid;
	bool at_return;
};
int bpf_attach_program(struct bpf *bpf, const struct bpf_uprobe *at, struct bpf_link **out);

/* Tells the programs of an allocator; `number` is that of its probes' cookies. */
/* Which of knobs.hierarchies, by bits, have groups among the targets. */
void bpf_use_hierarchies(struct bpf *bpf, u32 mask);

/*
 * Calls `visit` for the sampled memory that is not freed (bpf/held.h), by the process and the
 * sample; what it returns true for is no longer followed.
 */
typedef bool (*bpf_live_fn)(pid_t pid, u32 tid, u64 sample_ns, void *ctx);
int bpf_each_live(struct bpf *bpf, bpf_live_fn visit, void *ctx);

int bpf_set_memory_file(struct bpf *bpf, u32 number, const struct memory_file *file);
int bpf_memory_file(const struct bpf *bpf, u32 number, struct memory_file *out);
void bpf_detach(struct bpf_link *link);

/* Whether uprobes take no CAP_SYS_ADMIN here. */
bool bpf_can_attach_without_admin(void);

/* Notes from now on which threads wait; those that do already since now. */
int bpf_start_waits(struct bpf *bpf);

bool bpf_can_follow_waits(void);

/*
 * Ends that; then tells of every thread that still waits, for the last time if so said. Who goes on
 * before that last time sends its sample itself.
 */
void bpf_end_waits(struct bpf *bpf);
typedef void (*bpf_pending_fn)(const struct pending *p, void *ctx);
void bpf_pending(struct bpf *bpf, bool is_last, bpf_pending_fn pending, void *ctx);

/* Follows fork, exec and exit. */
int bpf_attach_processes(struct bpf *bpf);

/* The unwinder's maps. */
struct tables_fds bpf_tables(const struct bpf *bpf);

/* What reads memory of others, if remote_reads; see remote.h. */
struct remote_fds {
	int program, copies;
};
struct remote_fds bpf_remote(const struct bpf *bpf);

/* Whether the kernel has what that program needs (Linux 6.2). */
bool bpf_can_read_remote(void);

/* The maps of selectors; the values are masks of enum select. */
struct targets_fds {
	int pids, comms, users, cgroups;
};
struct targets_fds bpf_targets(const struct bpf *bpf);

/* Calls `visit` for every process that is to be sampled, as the programs see it. */
typedef void (*bpf_process_fn)(const struct task_id *id, void *ctx);
int bpf_each_target(struct bpf *bpf, bpf_process_fn visit, void *ctx);

/* Calls `record` for every record in the ring; the bytes are valid during the call only. */
typedef void (*bpf_record_fn)(const void *record, size_t len, void *ctx);
int bpf_drain(struct bpf *bpf, bpf_record_fn record, void *ctx);

/* The counters, summed over CPUs. */
void bpf_stats(const struct bpf *bpf, u64 stats[NR_STATS]);

/* Whether the kernel has a tracepoint of that name. */
bool bpf_kernel_has(const char *tracepoint);

/* Calls `visit` for what the kernel's enum of that name consists of. */
typedef void (*bpf_enumerator_fn)(const char *name, s32 value, void *ctx);
void bpf_kernel_enumerators(const char *name, bpf_enumerator_fn visit, void *ctx);

/* From bpf_measure on the kernel keeps the sampling programs' run time; knobs.measure for walks. */
int bpf_measure(struct bpf *bpf);
void bpf_measured(const struct bpf *bpf, struct sampling_cost *out);
