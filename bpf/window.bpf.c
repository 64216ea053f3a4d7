// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sampling between two functions. A process's window opens when any of its threads enters the
 * function of --begin-function, and closes when any enters that of --end-function.
 */
#include "window.h"

u64 recording_begin_ns = WINDOW_NEVER;
u64 recording_end_ns = WINDOW_NEVER;

static __always_inline int set_window(u64 since_ns)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;
	u64 *old_ns = bpf_map_lookup_elem(&windows, &pid);

	/* An open window keeps its start time. */
	if (!old_ns || since_ns == WINDOW_NEVER || *old_ns == WINDOW_NEVER)
		bpf_map_update_elem(&windows, &pid, &since_ns, BPF_ANY);
	return 0;
}

SEC("uprobe")
int window_begin(struct pt_regs *ctx)
{
	return set_window(bpf_ktime_get_ns());
}

SEC("uprobe")
int window_end(struct pt_regs *ctx)
{
	return set_window(WINDOW_NEVER);
}

__hidden u64 window_since(u32 pid)
{
	u64 *since_ns, begin_ns = recording_begin_ns;

	if (knobs.window == WINDOW_NONE)
		return begin_ns;
	since_ns = bpf_map_lookup_elem(&windows, &pid);
	if (!since_ns)
		return knobs.window == WINDOW_OPEN ? begin_ns : WINDOW_NEVER;
	return *since_ns > begin_ns ? *since_ns : begin_ns;
}
