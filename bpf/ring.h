/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The ring of records, and counters. The node's programs have one of each, and so has every
 * recording. records.h has the functions that add records.
 */
#pragma once

#include "kernel.h"

#include "abi.h"
#include "stat.h"

/* Records to user space: samples and process records. Records of one CPU are in order. */
struct records_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 * 1024 * 1024); /* user space sets it before loading */
};
extern struct records_map records SEC(".maps");

struct stats_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_STATS);
	__type(key, u32);
	__type(value, u64);
};
extern struct stats_map stats SEC(".maps");

/* Names the compiler of the programs, for the message if the verifier refuses them. */
#define BPF_COMPILER_LEN 128
extern const volatile char bpf_compiler[BPF_COMPILER_LEN];

/* Set when user space has been woken to empty the ring, cleared when it starts. */
extern u32 receiver_is_called;

static __always_inline void count_more(u32 stat, u64 more)
{
	u64 *n = bpf_map_lookup_elem(&stats, &stat);

	if (n)
		__sync_fetch_and_add(n, more); /* an NMI may interrupt it */
}

static __always_inline void count(u32 stat)
{
	count_more(stat, 1);
}
