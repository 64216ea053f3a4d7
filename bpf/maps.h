/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Every map, declared once; maps.bpf.c holds the definitions. */
#pragma once

#include "kernel.h"

#include "abi.h"
#include "knobs.h"
#include "stat.h"
#include "unwind/walk.h"

extern const volatile struct knobs knobs;

/* Records to user space: samples and process records. Records of one CPU are in order. */
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
 * The sample under construction, one per CPU and slot. It is a plain array indexed by slot *
 * nr_cpus + cpu, because per-CPU values are limited to 32 KB.
 */
struct scratch {
	struct sample sample;
	u64 words[ABI_SAMPLE_WORDS];
	struct walk walk;
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

/* What the selectors match. The values are masks of enum select. */
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

/* The next four maps are filled by user/capture/unwind/tables.c, which also sets their sizes. */
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

/* A wait that ends now and is a sample. */
struct sampled_wait {
	u64 end_ns, waited_ns;
	u32 event;                /* one of the events that sample it */
	u32 kind;                 /* of the record */
	u32 unit_ns[KNOBS_WAITS]; /* unit for each event; 0 if the wait is not a sample of it */
};

/*
 * A thread that is off the CPU. The entry ends with the thread. `sampled` is filled at the end of
 * the wait, because it does not fit on the stack of 512 bytes in Linux 6.1.
 */
struct wait {
	u64 since_ns; /* 0 if it is on a CPU */
	u32 state;    /* enum thread_state */
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

/* Lost and adjusted samples by event. */
struct event_counts_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_EVENTS *NR_EVENT_COUNTS);
	__type(key, u32); /* see enum event_count */
	__type(value, u64);
};
extern struct event_counts_map event_counts SEC(".maps");

/* Set when user space has been woken to empty the ring, cleared when it starts. See records.h. */
extern u32 receiver_is_called;

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
	u64 program_return; /* return address of a program's last allocator call; 0 if none */
	/* With leaks: */
	u64 sample_ns; /* of its sample; 0 if it is not a sample */
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

/*
 * Memory reads in progress, see remote.bpf.c. User space sets the size if it needs more than one.
 */
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
