/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Settings that user space makes before loading. They are read-only for the programs, and the
 * verifier drops unused code.
 */
#pragma once

/* How the samples of an event are weighted. */
struct event_knobs {
	/*
	 * weight of each sample; 0: a sample weighs the perf event's count since the previous
	 * sample
	 */
	__u64 weight;
	__u64 period; /* of tracepoints and uprobes: one hit in `period` is a sample; 0 means 1 */
	__u64 has_filter; /* of tracepoints: hits must pass filter.bpf.c */
	__u64 is_clock;   /* a perf event that a timer of the CPU drives: cpu-clock */
};

/* An event that measures waits. A wait of at least min_ns is always a sample, see offcpu.bpf.c. */
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
	WAIT_NATIVELOCK, /* only waits for locks that are futexes */
	WAIT_LOCK,       /* only waits for futexes in JVMs; the weight is the wait's duration */
	KNOBS_WAITS,
};

#define KNOBS_CPUS        8192 /* the most that Linux has */
#define KNOBS_HIERARCHIES 12   /* of control groups */

/* Whether a process is sampled before it enters one of the functions of the window. */
enum window {
	WINDOW_NONE, /* no such functions */
	WINDOW_CLOSED,
	WINDOW_OPEN,
};

struct knobs {
	__u32 include, exclude; /* kinds of selectors in use: enum select */
	__u32 nr_hierarchies;
	__u32 hierarchies[KNOBS_HIERARCHIES]; /* as cgroup_key.subsys */
	__u32 window;                         /* enum window */
	__u32 debug;                          /* print to the trace pipe */
	__u32 measure; /* time our walks, and the kernel's walks by frame pointers for comparison */
	__u32 nr_cpus; /* possible CPUs */
	__u32 kernel_only;           /* no stacks of user space */
	__u32 has_labels;            /* ThreadLocals of JVMs are labels: java_places */
	__u32 has_cpus;              /* only the CPUs of `cpus` are sampled */
	__u64 cpus[KNOBS_CPUS / 64]; /* as bits */
	__u32 alloc_event;
	char wait_for[ABI_COMM_LEN]; /* a program with this name becomes a target when it starts; ""
				      * if none */
	__u32 alloc_is_live;         /* track objects until they are collected */
	__u64 alloc_interval;
	struct event_knobs events[ABI_EVENTS];
	__u32 methods[ABI_EVENTS]; /* numbers of methods (jvmmap/wire.h) whose calls are events */
	/*
	 * calls of at least this duration are reported, at their end; 0: all calls, at their begin
	 */
	__u64 method_min_ns[ABI_EVENTS];
	struct wait_knobs waits[KNOBS_WAITS];
	struct memory_knobs memory;
};
