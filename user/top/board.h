/* SPDX-License-Identifier: Apache-2.0 */
/* One reading of the node and of all its JVMs, sorted by a key. */
#pragma once

#include "base/types.h"
#include "base/vec.h"
#include "jvm/hotspot/gauges.h"
#include "jvm/hotspot/virtual_threads.h"
#include "proc/status.h"

#define RATE_UNKNOWN (-1.0)

/* CPU time and memory that a JVM used between two readings. */
struct jvm_row {
	struct process_id id;
	const char *name;            /* main class or jar; clean UTF-8 */
	const char *container;       /* its name, or its id; "" if it is in none; clean UTF-8 */
	const char *jdk, *collector; /* "" if unknown; clean UTF-8 */
	const char *gap;             /* why the JVM's memory is not read; NULL if it is read */
	/* CPUs used: 1.0 is one CPU all the time. RATE_UNKNOWN: at the first reading, or never. */
	double cpu, gc, jit;
	double alloc; /* bytes per second, RATE_UNKNOWN as above */
	/* threads ended between the readings: some of their bytes are missing */
	bool alloc_is_least;
	u64 allocated_bytes; /* since the first reading */
	u64 partial_threads; /* ended threads whose last bytes are missing in alloc */
	u32 threads[NR_JAVA_THREAD_STATES];
	u32 nr_threads;                             /* that can run Java code; 0 if unknown */
	struct virtual_totals virtual;              /* 0 if there are none, or it is unknown */
	u64 heap_used, heap_committed, collections; /* GAUGE_UNKNOWN if so */
};

/* The load of the node between two readings, from /proc/stat and /proc/loadavg. */
struct node_load {
	int nr_cpus;
	double busy;    /* CPUs: 1.0 is one CPU all the time; negative at the first reading */
	double stolen;  /* CPUs that the hypervisor gave to others; negative as above */
	double load[3]; /* averages of 1, 5 and 15 minutes */
};

struct board {
	struct node_load load;
	double own;    /* CPUs that this program uses, with its BPF programs; negative: unknown */
	double other;  /* CPUs that processes other than JVMs use; negative: unknown */
	u64 passed_ns; /* since the last reading; 0: this is the first one */
	VEC(struct jvm_row) rows;
};

enum board_key {
	BOARD_CPU,
	BOARD_ALLOC,
	BOARD_GC,
	BOARD_JIT,
	BOARD_HEAP,
	BOARD_THREADS,
	BOARD_BLOCKED,
	BOARD_PID,
	BOARD_NAME,
	NR_BOARD_KEYS,
};

/* "cpu", "alloc", .. */
const char *board_key_name(enum board_key key);

/* -ENOENT if there is no such key. */
int board_key_parse(const char *name, enum board_key *out);

/*
 * Fills in what this program and other processes used since the reading at `before_ns` (0: none).
 * *own_ns is this program's CPU time at that reading, and becomes the present one.
 */
void board_add_shares(struct board *b, u64 before_ns, u64 now_ns, u64 *own_ns, u64 own_now_ns);

/* Sorts the rows: the largest first, but PIDs and names ascending. */
void board_sort(struct board *b, enum board_key key);

/* Whether the row has the text in its name, container or PID, without regard to case. */
bool board_matches(const struct jvm_row *row, const char *text);

/* The CPUs of all rows together. */
double board_cpu(const struct board *b);
void board_fini(struct board *b);

/* The times of all CPUs together, in ticks. */
struct cpu_ticks {
	u64 busy, stolen, all;
	int nr_cpus;
};

/* Reads the load now, and compares with *last, which is then replaced. */
int node_load_read(struct cpu_ticks *last, struct node_load *out);
