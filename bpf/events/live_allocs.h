/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sampled memory that may be freed. Until then the sample's time and thread identify the memory.
 * Java objects have numbers in place of addresses, with the highest bit set (jvmmap/hooks.c).
 */
#pragma once

#include "maps.h"
#include "records.h"

static __always_inline struct memory_key live_allocs_key(u64 addr)
{
	return (struct memory_key){ .addr = addr, .pid = bpf_get_current_pid_tgid() >> 32 };
}

static __always_inline void live_allocs_send_freed(const struct memory_live *m)
{
	struct freed_record r = {
		.kind = RECORD_FREED,
		.tid = m->tid,
		.sample_ns = m->sample_ns,
		.time_ns = bpf_ktime_get_ns(),
	};

	/*
	 * If the ring is full, the map of live memory still gives user space the answer at the end.
	 */
	bpf_ringbuf_output(&records, &r, sizeof(r), records_flags());
}

/* Whether the memory at `addr` has been sampled and is not freed. */
static __always_inline bool live_allocs_is_live(u64 addr)
{
	struct memory_key key = live_allocs_key(addr);

	return bpf_map_lookup_elem(&memory_live, &key);
}

/* Records that the current thread's sample belongs to the memory at `addr`. */
static __always_inline void live_allocs_add(u64 addr, u64 sample_ns)
{
	struct memory_key key = live_allocs_key(addr);
	struct memory_live live = {
		.sample_ns = sample_ns,
		.tid = (u32)bpf_get_current_pid_tgid(),
	};

	if (bpf_map_update_elem(&memory_live, &key, &live, BPF_ANY))
		count(STAT_LEAK_UNTRACKED);
}

static __always_inline void live_allocs_free(u64 addr)
{
	struct memory_key key = live_allocs_key(addr);
	struct memory_live *m = addr ? bpf_map_lookup_elem(&memory_live, &key) : NULL;

	if (!m)
		return;
	struct memory_live freed = *m;
	if (!bpf_map_delete_elem(&memory_live, &key))
		live_allocs_send_freed(&freed);
}
