/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF programs of the node: they report forks, execs and exits, and own the unwinder's tables.
 * Each process of sysflame loads them once, however many recordings it makes. The facts
 * of threads, for commands without a recording as well, come from a program among these.
 */
#pragma once

#include "base/types.h"
#include "capture/kernel/receiver.h"
#include "stat.h"
#include "virtual_abi.h"

/* The sizes of the maps unwind_rows (nr_words / 2), unwind_ranges and jvms; set before loading. */
struct tables_sizes {
	u32 nr_words, nr_ranges, nr_jvms;
};

#define TABLES_SIZES_DEFAULT                                                 \
	{                                                                    \
		.nr_words = 3u << 20, .nr_ranges = 64u << 10, .nr_jvms = 256 \
	}

/* The maps' descriptors; they stay the caller's. */
struct tables_fds {
	int rows, ranges, procs, jvms, context_places, java_places;
};

struct node_programs_options {
	struct tables_sizes tables;
	size_t ring_bytes; /* a power of two */
	bool only_facts;   /* load no program but that of node_programs_facts */
};

struct node_programs;

/* Loads the programs. On failure logs one line with the missing right or feature and the remedy. */
int node_programs_load(const struct node_programs_options *options, struct node_programs **out);
void node_programs_free(struct node_programs *n);

/* Follows fork, exec and exit. Call it before programs_attach_targets. */
int node_programs_attach(struct node_programs *n);

struct ring *node_programs_ring(const struct node_programs *n);

/* The unwinder's maps, and that of contexts (capture/samples/requests.h). */
struct tables_fds node_programs_tables(const struct node_programs *n);

/*
 * Loaded with only_facts: opens an iterator for jvm/attach/readiness.h. Returns its descriptor or
 * a negative errno.
 */
int node_programs_facts(struct node_programs *n);

/* The number of forks, execs and exits that did not fit into the ring. */
u64 node_programs_nr_lost(const struct node_programs *n);

/*
 * The run time of the node's programs so far; 0 unless the kernel measures it (load_timing_open).
 */
u64 node_programs_run_ns(const struct node_programs *n);

/*
 * Reads memory of other users' processes with a BPF program, for users without CAP_SYS_PTRACE.
 * CAP_BPF and CAP_PERFMON are enough for it.
 */
struct remote;

/* Whether reads by BPF are needed, and the kernel supports them. */
bool remote_is_wanted(void);

/*
 * Loads the program. From now on proc/mem.h uses it for memory that it may not read otherwise. Only
 * one may be open. On failure logs one line with the missing right or feature and the remedy.
 */
int remote_open(struct remote **out);
void remote_close(struct remote *r);

/*
 * As remote_open, for a command without a recording. NULL if reads by BPF are not needed, or
 * loading fails.
 */
struct remote *remote_alone(void);

/*
 * Provides jvm/attach/readiness.h with iterators over all threads: from now on attaches read facts
 * of the kernel. The program for it is loaded at the first attach,
 * if the rights suffice, and kept.
 */
void facts_provide(void);

/*
 * The states of JVMs' virtual threads at one moment, read by BPF programs that interrupt the JVM
 * (bpf/virtual.bpf.c).
 */
struct virtual_states;

/*
 * Loads the programs; takes about 10 ms. Returns 0, or a negative errno if the kernel or the rights
 * do not suffice.
 */
int virtual_states_open(struct virtual_states **out);
void virtual_states_close(struct virtual_states *v);

/* Place `nr` of VIRTUAL_PLACES, for jvm/hotspot/virtual_threads.h. */
struct virtual_place *virtual_states_place(const struct virtual_states *v, u32 nr);

/*
 * Has BPF fill in a place after that time, if the JVM then runs on the CPU of this thread. The
 * place's is_armed is 0 from then on. A thread that sleeps on this CPU for the same time does not
 * disturb the JVM before.
 */
int virtual_states_arm(struct virtual_states *v, u32 nr, u64 ns);

/*
 * Fills in a place at once. Takes about 40 us. Returns 0; -ESRCH if the JVM runs on no other CPU:
 * it stands still; or another negative errno.
 */
int virtual_states_take(struct virtual_states *v, u32 nr);
