/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF programs in the kernel: load, attach, read what they send. */
#pragma once

#include "base/types.h"
#include "capture/tables.h"
#include "stat.h"

struct bpf_options {
	const pid_t *pids; /* sample only these and their children; all processes if nr_pids is 0 */
	size_t nr_pids;
	bool filter;       /* sample only `pids`, also if there are none yet (bpf_add_target) */
	size_t ring_bytes; /* 0: by the number of CPUs */
};

struct bpf;
struct bpf_link;

/* Loads the programs; on failure logs one line that says what is missing and the remedy. */
int bpf_load(const struct bpf_options *options, struct bpf **out);
void bpf_free(struct bpf *bpf);

/* Attaches the sampling program to a perf event, whose descriptor stays the caller's. */
int bpf_attach_cpu(struct bpf *bpf, int perf_fd, struct bpf_link **out);
void bpf_detach(struct bpf_link *link);

/* Follows fork, exec and exit. */
int bpf_attach_processes(struct bpf *bpf);

/* The unwinder's maps. */
struct tables_fds bpf_tables(const struct bpf *bpf);

/* Adds a PID to the sampled ones. */
int bpf_add_target(struct bpf *bpf, pid_t pid);

/* Calls `record` for every record in the ring; the bytes are valid during the call only. */
typedef void (*bpf_record_fn)(const void *record, size_t len, void *ctx);
int bpf_drain(struct bpf *bpf, bpf_record_fn record, void *ctx);

/* The counters, summed over CPUs. */
void bpf_stats(const struct bpf *bpf, u64 stats[NR_STATS]);

/* From bpf_measure on the kernel keeps the sampling program's run time and number of runs. */
int bpf_measure(struct bpf *bpf);
void bpf_measured(const struct bpf *bpf, u64 *run_ns, u64 *runs);
