/* SPDX-License-Identifier: Apache-2.0 */
/* One JVM over time: what it used between two readings. */
#pragma once

#include "jvm/hotspot/gauges.h"
#include "proc/status.h"

#define RATE_UNKNOWN (-1.0)

struct jvm_row {
	struct process_id id;
	const char *name;            /* main class or jar; clean UTF-8 */
	const char *container;       /* its name, or its id; "" if it is in none; clean UTF-8 */
	const char *jdk, *collector; /* "" if unknown; clean UTF-8 */
	const char *gap;             /* why its memory is not read; NULL if it is */
	/* CPUs used: 1.0 is one CPU all the time. RATE_UNKNOWN: at the first reading, or never. */
	double cpu, gc, jit;
	double alloc;        /* bytes per second, RATE_UNKNOWN as above */
	bool alloc_is_least; /* threads ended meanwhile: some of their bytes are missing */
	u64 allocated_bytes; /* since the first reading */
	u64 partial_threads; /* whose last bytes are missing in it */
	u32 threads[NR_JAVA_THREAD_STATES];
	u32 nr_threads;                             /* that can run Java code; 0 if unknown */
	u64 heap_used, heap_committed, collections; /* GAUGE_UNKNOWN if so */
};

struct jvm_meter;

struct jvm_meter *jvm_meter_new(struct process_id id);
void jvm_meter_free(struct jvm_meter *m);
struct process_id jvm_meter_id(const struct jvm_meter *m);

/*
 * Takes a reading at `now_ns` (CLOCK_MONOTONIC) and fills in the numbers of *out and its identity.
 * The texts are the caller's. `h` is NULL if its memory cannot be read.
 */
void jvm_meter_read(struct jvm_meter *m, struct hotspot *h, u64 now_ns, struct jvm_row *out);
