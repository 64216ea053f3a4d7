/* SPDX-License-Identifier: Apache-2.0 */
/* Which process is meant: a PID alone names another process once it is used again. */
#pragma once

#include "base/dict.h"
#include "base/types.h"

/* /proc/PID/stat counts starttime in ticks of 10 ms (USER_HZ is 100 on every architecture). */
#define PROC_TICK_NS 10000000ull

struct process_id {
	pid_t pid;
	u64 start_ns; /* CLOCK_BOOTTIME, of the main thread; read from /proc it is rounded down to a
			 tick */
};

/* Compares start times by ticks: BPF reports them exactly (group_leader->start_boottime). */
static inline bool process_id_same(struct process_id a, struct process_id b)
{
	return a.pid == b.pid && a.start_ns / PROC_TICK_NS == b.start_ns / PROC_TICK_NS;
}

/* Equal for ids that are the same. */
static inline u64 process_id_hash(struct process_id id)
{
	return hash_u64((u64)id.pid ^ hash_u64(id.start_ns / PROC_TICK_NS));
}
