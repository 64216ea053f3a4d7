/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Every map, declared once; maps.bpf.c holds the definitions. */
#pragma once

#include "kernel.h"

#include "abi.h"
#include "knobs.h"
#include "stat.h"

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
 * The sample under construction, one per CPU and event source: a perf event may interrupt another
 * source. A plain array indexed by cpu * NR_SOURCES + source, because per-CPU values end at 32 KB.
 */
struct scratch {
	struct sample sample;
	u64 words[ABI_SAMPLE_WORDS];
};

struct scratches_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_SOURCES); /* user space multiplies by the number of CPUs */
	__type(key, u32);
	__type(value, struct scratch);
};
extern struct scratches_map scratches SEC(".maps");

/* PIDs that are sampled when knobs.filter_by_pid is set. */
struct targets_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, u8);
};
extern struct targets_map targets SEC(".maps");

static __always_inline void count(u32 stat)
{
	u64 *n = bpf_map_lookup_elem(&stats, &stat);

	if (n)
		(*n)++;
}
