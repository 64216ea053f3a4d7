/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Every map, declared once; maps.bpf.c holds the definitions. */
#pragma once

#include "kernel.h"

#include "abi.h"
#include "knobs.h"
#include "stat.h"
#include "walk.h"

extern const volatile struct knobs knobs;

/* Records to user space: samples and what processes did, in the order they happened per CPU. */
struct records_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 * 1024 * 1024); /* user space sets the size before loading */
};
extern struct records_map records SEC(".maps");

struct stats_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_STATS);
	__type(key, u32);
	__type(value, u64);
};
extern struct stats_map stats SEC(".maps");

/*
 * The sample under construction, one per CPU and slot. A plain array indexed by
 * slot * nr_cpus + cpu, because per-CPU values end at 32 KB.
 */
struct scratch {
	struct sample sample;
	u64 words[ABI_SAMPLE_WORDS];
	struct walk walk;
	u32 is_taken; /* by stack_begin, until stack_end */
	u32 slot;     /* that was asked for */
};

struct scratches_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_SLOTS); /* user space sets it: used slots times CPUs */
	__type(key, u32);
	__type(value, struct scratch);
};
extern struct scratches_map scratches SEC(".maps");

/* What the selectors select; the values are masks of enum select. */
struct targets_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, u32); /* pid: SELECT_PID and SELECT_JVM */
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

/* The four below are filled by user/capture/tables.c; user space sets the sizes before loading. */
struct unwind_rows_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unwind_words);
};
extern struct unwind_rows_map unwind_rows SEC(".maps");

struct unwind_ranges_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unwind_range);
};
extern struct unwind_ranges_map unwind_ranges SEC(".maps");

struct unwind_procs_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, u32); /* pid */
	__type(value, struct unwind_proc);
};
extern struct unwind_procs_map unwind_procs SEC(".maps");

struct jvms_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hotspot_layout);
};
extern struct jvms_map jvms SEC(".maps");

/* Since when a thread is off the CPU. Ends with the thread. */
struct wait {
	u64 since_ns; /* 0: it is not */
	u32 state;    /* enum thread_state */
};

/* When recording ended, 0 before: no wait begins any more, and those that last end then. */
extern u64 waits_end_ns;

struct waits_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wait);
};
extern struct waits_map waits SEC(".maps");

/* The one that the iterator of waiting threads is writing. */
struct pendings_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pending);
};
extern struct pendings_map pendings SEC(".maps");

/* Kept only if knobs.measure is set. */
struct costs_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct walk_cost);
};
extern struct costs_map costs SEC(".maps");

/*
 * Since when processes are within --begin and --end; WINDOW_NEVER: they have reached the end. One
 * that executes another program or ends has none.
 */
struct windows_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u32); /* pid */
	__type(value, u64);
};
extern struct windows_map windows SEC(".maps");

/* Hits of events of which only every so many are sampled; key: the event. */
struct hits_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_EVENTS);
	__type(key, u32);
	__type(value, u64);
};
extern struct hits_map hits SEC(".maps");

/* Time that samples took on this CPU, see throttle.h. */
enum throttle_key {
	THROTTLE_HITS,
	THROTTLE_WAITS,
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

/* The allocators that have probes; key: MEMORY_COOKIE_FILE. */
struct memory_files_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MEMORY_FILES);
	__type(key, u32);
	__type(value, struct memory_file);
};
extern struct memory_files_map memory_files SEC(".maps");

/* A thread's outermost call of an allocator; without leaks its last one that may jump to another.
 */
struct memory_call {
	u64 sp; /* at entry; 0: it has returned */
	u64 size;
	/* Without leaks: */
	u64 return_address;
	u64 function;       /* MEMORY_COOKIE_FUNCTION */
	u64 program_return; /* of the last call of an allocator in a program; 0: there was none */
	/* With leaks: */
	u64 sample_ns; /* of its sample; 0: it is none */
	u64 out;       /* where posix_memalign writes the address */
	u32 call;      /* enum memory_call_kind */
};

struct memory_calls_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct memory_call);
};
extern struct memory_calls_map memory_calls SEC(".maps");

/* Sampled memory that is not free yet. */
struct memory_live_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 20);
	__type(key, struct memory_key);
	__type(value, struct memory_live);
};
extern struct memory_live_map memory_live SEC(".maps");

/* Reads of memory under way, see remote.bpf.c; one entry unless user space needs it. */
struct remote_copies_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct remote_copy);
};
extern struct remote_copies_map remote_copies SEC(".maps");

static __always_inline void count_more(u32 stat, u64 more)
{
	u64 *n = bpf_map_lookup_elem(&stats, &stat);

	if (n)
		*n += more;
}

static __always_inline void count(u32 stat)
{
	count_more(stat, 1);
}

/* The layout of the process's JVM; NULL if it has none. */
static __always_inline const struct hotspot_layout *walk_jvm(const struct walk *w)
{
	u32 index = w->proc.jvm;

	return bpf_map_lookup_elem(&jvms, &index);
}
