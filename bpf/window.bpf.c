// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Samples only between two functions: a process's window opens when any of its threads enters the
 * one and closes when any enters the other.
 */
#include "window.h"

static __always_inline int set_window(u32 is_open)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;

	bpf_map_update_elem(&windows, &pid, &is_open, BPF_ANY);
	return 0;
}

SEC("uprobe")
int window_begin(struct pt_regs *ctx)
{
	return set_window(true);
}

SEC("uprobe")
int window_end(struct pt_regs *ctx)
{
	return set_window(false);
}

__hidden bool window_is_open(u32 pid)
{
	u32 *is_open;

	if (knobs.window == WINDOW_NONE)
		return true;
	is_open = bpf_map_lookup_elem(&windows, &pid);
	return is_open ? *is_open : knobs.window == WINDOW_OPEN;
}
