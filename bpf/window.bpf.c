// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Samples only between two functions: a process's window opens when any of its threads enters the
 * one and closes when any enters the other.
 */
#include "window.h"

static __always_inline int set_window(u64 since_ns)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;
	u64 *old_ns = bpf_map_lookup_elem(&windows, &pid);

	/* One that is open stays open since then. */
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
	u64 *since_ns;

	if (knobs.window == WINDOW_NONE)
		return 0;
	since_ns = bpf_map_lookup_elem(&windows, &pid);
	return since_ns ? *since_ns : knobs.window == WINDOW_OPEN ? 0 : WINDOW_NEVER;
}
