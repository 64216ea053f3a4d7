/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The maps of a recording, each declared once; maps.bpf.c holds the definitions. ring.h and
 * node/tables.h have the others.
 */
#pragma once

#include "kernel.h"

#include "abi.h"
#include "filter_abi.h"
#include "java_value.h"
#include "knobs.h"
#include "node/tables.h"
#include "ring.h"
#include "stat.h"
#include "unwind/walk.h"

extern const volatile struct knobs knobs;

/*
 * The sample under construction, one per CPU and slot. It is a plain array indexed by slot *
 * nr_cpus + cpu, because per-CPU values are limited to 32 KB.
 */
struct scratch {
	struct sample sample;
	u64 words[ABI_SAMPLE_WORDS];
	struct walk walk;
	struct java_reading java;
	u32 is_taken; /* between stack_begin and stack_end */
	u32 throttle; /* enum throttle_key: where its time counts; NR_THROTTLES: nowhere */
};

struct scratches_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_SLOTS); /* user space sets it: used slots times CPUs */
	__type(key, u32);
	__type(value, struct scratch);
};
extern struct scratches_map scratches SEC(".maps");

/* Processes that selectors match. A value is a mask of enum select. */
struct targets_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, u32); /* pid: SELECT_PID, SELECT_JVM and SELECT_SERVICE */
	__type(value, u32);
};
extern struct targets_map targets SEC(".maps");

struct target_comms_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct comm_key);
	__type(value, u32);
};
extern struct target_comms_map target_comms SEC(".maps");

struct target_users_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u32);
};
extern struct target_users_map target_users SEC(".maps");

struct target_cgroups_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, TARGET_CGROUPS_MAX);
	__type(key, struct cgroup_key);
	__type(value, u32);
};
extern struct target_cgroups_map target_cgroups SEC(".maps");

/* A wait that ends now and is a sample. */
struct sampled_wait {
	u64 end_ns, waited_ns;
	u32 event;                /* one of the events that sample it */
	u32 kind;                 /* of the record */
	u32 unit_ns[KNOBS_WAITS]; /* unit for each event; 0: the wait is no sample of that event */
};

#define WAIT_NO_CPU (~0u)

/*
 * A thread that is off the CPU. The entry ends with the thread. `sampled` is filled at the end of
 * the wait, because it does not fit on the stack of 512 bytes in Linux 6.1.
 */
struct wait {
	u64 since_ns; /* when the wait began; 0 if the thread is on a CPU */
	u32 state;    /* enum thread_state */
	/* the CPU that the thread left; WAIT_NO_CPU if that was before the recording */
	u32 cpu;
	struct sampled_wait sampled;
};

struct waits_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wait);
};
extern struct waits_map waits SEC(".maps");

/* The record that the iterator over waiting threads is writing. */
struct pendings_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct blocked_thread);
};
extern struct pendings_map pendings SEC(".maps");

/* Written only if knobs.measure is set. */
struct costs_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct walk_cost);
};
extern struct costs_map costs SEC(".maps");

/*
 * When processes entered the function of --begin-function; WINDOW_NEVER once they have entered that
 * of --end-function. The entry is removed when a process ends or executes another program.
 */
struct windows_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u32); /* pid */
	__type(value, u64);
};
extern struct windows_map windows SEC(".maps");

/* Hits since the last sample, for events with a period. Key: the event. */
struct hits_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_EVENTS);
	__type(key, u32);
	__type(value, u64);
};
extern struct hits_map hits SEC(".maps");

/* Key: the event. */
struct event_runs_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_EVENTS);
	__type(key, u32);
	__type(value, struct event_runs);
};
extern struct event_runs_map event_runs SEC(".maps");

/* The kernel's ids of the perf events that are clocks. Key: event * nr_cpus + cpu; 0: none. */
struct clock_ids_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ABI_EVENTS); /* user space sets it */
	__type(key, u32);
	__type(value, u64);
};
extern struct clock_ids_map clock_ids SEC(".maps");

/* Address of the function that timers of clocks call; 0 until a clock has run. */
extern u64 clock_function;

/* The filters of tracepoints. Key: the event. */
struct filters_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ABI_EVENTS);
	__type(key, u32);
	__type(value, struct filter);
};
extern struct filters_map filters SEC(".maps");

/* Key: event * FILTER_PATTERNS + filter_test.pattern. */
struct filter_patterns_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ABI_EVENTS *FILTER_PATTERNS); /* user space sets it to 1 if unused */
	__type(key, u32);
	__type(value, struct filter_pattern);
};
extern struct filter_patterns_map filter_patterns SEC(".maps");

/* The hit that is being filtered. */
struct filter_work {
	u64 base; /* address of the tracepoint's record */
	char text[FILTER_TEXT];
};

struct filter_works_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct filter_work);
};
extern struct filter_works_map filter_works SEC(".maps");

/* Lost and adjusted samples by event. */
struct event_counts_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_EVENTS *NR_EVENT_COUNTS);
	__type(key, u32); /* see enum event_count */
	__type(value, u64);
};
extern struct event_counts_map event_counts SEC(".maps");

/* How often to halve the sampling rate while user space is behind. User space sets it. */
extern u32 backlog_halvings;

/* Whose time the samples took on this CPU, see throttle.h. */
enum throttle_key {
	THROTTLE_HITS,
	THROTTLE_WAITS,
	THROTTLE_HOOKS, /* hooks of the agent */
	NR_THROTTLES,
};

struct throttle {
	u64 spent_ns;
	u64 seen_ns;
};

struct throttles_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_THROTTLES);
	__type(key, u32); /* enum throttle_key */
	__type(value, struct throttle);
};
extern struct throttles_map throttles SEC(".maps");

/* The allocators that have probes. Key: MEMORY_COOKIE_FILE. */
struct memory_files_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MEMORY_FILES);
	__type(key, u32);
	__type(value, struct memory_file);
};
extern struct memory_files_map memory_files SEC(".maps");

/*
 * A thread's outermost call of an allocator. Without leaks: its last call that may jump to another
 * function.
 */
struct memory_call {
	u64 sp; /* at entry; 0 if it has returned */
	u64 size;
	/* Without leaks: */
	u64 return_address;
	u64 function;       /* MEMORY_COOKIE_FUNCTION */
	u64 program_return; /* as allocator_return in struct sample */
	/* With leaks: */
	u64 sample_ns; /* when the call was sampled; 0 if it was not */
	u64 out;       /* where posix_memalign stores the address */
	u64 mapped;    /* as in struct sample */
	u32 call;      /* enum memory_call_kind */
};

struct memory_calls_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct memory_call);
};
extern struct memory_calls_map memory_calls SEC(".maps");

/* Sampled memory that is not freed yet. */
struct memory_live_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MEMORY_LIVE_MAX); /* user space sets it to 1 if it is not needed */
	__type(key, struct memory_key);
	__type(value, struct memory_live);
};
extern struct memory_live_map memory_live SEC(".maps");

/* Counts lost or adjusted samples of an event. */
static __always_inline void count_event_more(u32 event, enum event_count what, u64 more)
{
	u32 key = event * NR_EVENT_COUNTS + what;
	u64 *nr = bpf_map_lookup_elem(&event_counts, &key);

	if (nr)
		__sync_fetch_and_add(nr, more); /* an NMI may interrupt it */
}

static __always_inline void count_event(u32 event, enum event_count what)
{
	count_event_more(event, what, 1);
}

/* The layout of the process's JVM; NULL if it has none. */
static __always_inline const struct hotspot_layout *walk_jvm(const struct walk *w)
{
	u32 index = w->proc.jvm;

	return bpf_map_lookup_elem(&jvms, &index);
}
