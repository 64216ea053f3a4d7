// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Reads another process's memory for a user space that has no right to do so itself (Linux 6.2). It
 * is an object of its own, since for functions of the kernel libbpf reads all types of the kernel.
 */
#include "kernel.h"

#include "abi.h"

/* Memory reads in progress. */
struct remote_copies_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ABI_COPIES);
	__type(key, u32);
	__type(value, struct remote_copy);
};
struct remote_copies_map remote_copies SEC(".maps");

extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym __weak;
extern void bpf_task_release(struct task_struct *task) __ksym __weak;

static __always_inline void copy(struct task_struct *task, u32 nr)
{
	for (u32 i = 0; i < ABI_COPIES && i < nr; i++) {
		u32 key = i;
		struct remote_copy *c = bpf_map_lookup_elem(&remote_copies, &key);

		if (!c)
			return;
		u32 len = c->len;
		c->is_done = len <= ABI_COPY_BYTES &&
			     !bpf_copy_from_user_task(c->bytes, len, (void *)c->addr, task, 0);
	}
}

/* Fills in remote_copies. Returns 0 or -ESRCH. Pages that are not in memory are fetched. */
SEC("syscall")
int remote_read(struct remote_args *args)
{
	const u64 tick_ns = 10000000; /* /proc gives a process's start in ticks only */
	struct task_struct *task = bpf_task_from_pid(args->pid);
	int err = -3; /* ESRCH */

	if (!task)
		return err;
	if (!args->start_ns ||
	    task->group_leader->start_boottime / tick_ns == args->start_ns / tick_ns) {
		copy(task, args->nr);
		err = 0;
	}
	bpf_task_release(task);
	return err;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
