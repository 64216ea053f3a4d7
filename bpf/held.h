/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sampled memory that may be freed: the sample's time and thread are its name until then. Objects
 * of Java have numbers in the place of addresses, with the highest bit set (jvmmap/refs.c).
 */
#pragma once

#include "maps.h"

static __always_inline struct memory_key held_key(u64 addr)
{
	return (struct memory_key){ .addr = addr, .pid = bpf_get_current_pid_tgid() >> 32 };
}

static __always_inline void held_send_freed(const struct memory_live *m)
{
	struct freed_record r = {
		.kind = RECORD_FREED,
		.tid = m->tid,
		.sample_ns = m->sample_ns,
		.time_ns = bpf_ktime_get_ns(),
	};

	/* If there is no room the map of what lives still tells user space at the end. */
	bpf_ringbuf_output(&records, &r, sizeof(r), BPF_RB_NO_WAKEUP);
}

/* The sample of the thread that runs is of the memory at `addr`. */
static __always_inline void held_add(u64 addr, u64 sample_ns)
{
	struct memory_key key = held_key(addr);
	struct memory_live live = {
		.sample_ns = sample_ns,
		.tid = (u32)bpf_get_current_pid_tgid(),
	};

	if (bpf_map_update_elem(&memory_live, &key, &live, BPF_ANY))
		count(STAT_LEAK_UNTRACKED);
}

static __always_inline void held_free(u64 addr)
{
	struct memory_key key = held_key(addr);
	struct memory_live *m = addr ? bpf_map_lookup_elem(&memory_live, &key) : NULL;

	if (!m)
		return;
	struct memory_live freed = *m;
	if (!bpf_map_delete_elem(&memory_live, &key))
		held_send_freed(&freed);
}
