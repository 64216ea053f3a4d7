/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF programs of the node: they report forks, execs and exits, and own the unwinder's tables.
 * Each process of sysflame loads them once, however many recordings it makes.
 */
#pragma once

#include "capture/kernel/ring.h"
#include "capture/kernel/table_maps.h"
#include "stat.h"

struct node_programs_options {
	struct tables_sizes tables;
	size_t ring_bytes; /* a power of two */
	bool remote_reads; /* load the program that reads memory of other users' processes */
	bool only_facts;   /* load no program but that of node_programs_facts */
};

struct node_programs;

/* Loads the programs. On failure logs one line with the missing right or feature and the remedy. */
int node_programs_load(const struct node_programs_options *options, struct node_programs **out);
void node_programs_free(struct node_programs *n);

/* Follows fork, exec and exit. Call it before programs_attach_targets. */
int node_programs_attach(struct node_programs *n);

struct ring *node_programs_ring(const struct node_programs *n);

/* The unwinder's maps. */
struct tables_fds node_programs_tables(const struct node_programs *n);

/*
 * The program and map that read memory of other users' processes, if loaded with remote_reads; see
 * remote.h.
 */
struct remote_fds {
	int program, copies;
};
struct remote_fds node_programs_remote(const struct node_programs *n);

/*
 * Loaded with only_facts: opens an iterator for jvm/attach/task_facts.h. Returns its descriptor or
 * a negative errno.
 */
int node_programs_facts(struct node_programs *n);

/* The number of forks, execs and exits that did not fit into the ring. */
u64 node_programs_nr_lost(const struct node_programs *n);

/* Their run time so far; 0 unless the kernel knows it (load_timing_open). */
u64 node_programs_run_ns(const struct node_programs *n);
