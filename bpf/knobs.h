/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What user space sets before loading; read-only for the programs, so unused code is dropped. */
#pragma once

/* How samples of an event are weighted. */
struct event_knobs {
	__u64 weight; /* of each sample; 0: what the perf event counted since the last one */
	__u64 period; /* tracepoints and uprobes: every so many hits are a sample; 0 is 1 */
};

/* An event that measures waits: one of at least min_ns counts in full, see offcpu.bpf.c. */
struct wait_knobs {
	__u64 min_ns; /* 0: the event is not recorded */
	__u32 event;
};

/* Native memory, see nativemem.bpf.c. */
struct memory_knobs {
	__u64 interval; /* bytes, below 2^32; 0: not recorded */
	__u32 event;
};

/* The events that measure waits. */
enum wait_event {
	WAIT_OFFCPU,
	WAIT_WALL,
	WAIT_NATIVELOCK, /* only for locks that are futexes */
	WAIT_LOCK,       /* only in JVMs, by futexes; a sample weighs how long it waited */
	KNOBS_WAITS,
};

#define KNOBS_HIERARCHIES 12 /* of control groups */

/* Whether a process is sampled before one of the functions of --begin and --end was reached. */
enum window {
	WINDOW_NONE, /* there are no such functions */
	WINDOW_CLOSED,
	WINDOW_OPEN,
};

struct knobs {
	__u32 include, exclude; /* the kinds of selectors in use: enum select */
	__u32 nr_hierarchies;
	__u32 hierarchies[KNOBS_HIERARCHIES]; /* as cgroup_key.subsys */
	__u32 window;                         /* enum window */
	__u32 debug;                          /* print to the trace pipe */
	__u32 measure; /* time walks, and the kernel's by frame pointers next to them */
	__u32 nr_cpus; /* that are possible */
	__u32 alloc_event;
	char wait_for[ABI_COMM_LEN]; /* programs that are targets from when they begin; "" for none
				      */
	__u32 alloc_is_live;         /* objects are followed until they are collected */
	__u64 alloc_interval;
	struct event_knobs events[ABI_EVENTS];
	__u32 methods[ABI_EVENTS]; /* numbers of methods (jvmmap/wire.h) whose calls are events */
	struct wait_knobs waits[KNOBS_WAITS];
	struct memory_knobs memory;
};
