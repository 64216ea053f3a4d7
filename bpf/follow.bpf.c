// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A recording's targets across fork, exec and exit. Not loaded for a recording of all processes
 * without --begin-function. node/proc.bpf.c reports the processes themselves.
 */
#include "maps.h"
#include "records.h"
#include "target.h"
#include "task.h"

/* Reports to user space whether a new process, or the new program of a process, is a target. */
static __always_inline void send_selection(u32 kind, struct task_struct *task)
{
	bool is_wanted = target_is_wanted(task);

	if (kind == RECORD_SELECTED_FORK && !is_wanted)
		return;
	struct selection_record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
	if (!r) {
		count(STAT_EVENT_LOST);
		return;
	}
	r->kind = kind;
	r->is_wanted = is_wanted;
	r->task = task_id_of(task);
	r->time_ns = bpf_ktime_get_ns();
	bpf_ringbuf_submit(r, records_flags());
}

/* A child of a selected process is selected, too. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(target_fork, struct task_struct *parent, struct task_struct *child)
{
	if (child->pid != child->tgid)
		return 0;

	u32 parent_pid = parent->tgid, pid = child->tgid;
	u32 *target = bpf_map_lookup_elem(&targets, &parent_pid);
	if (target) {
		u32 mask = *target;
		bpf_map_update_elem(&targets, &pid, &mask, BPF_ANY);
	}
	send_selection(RECORD_SELECTED_FORK, child);
	return 0;
}

static __always_inline bool is_waited_for(struct task_struct *task)
{
	char comm[ABI_COMM_LEN] = {};

	if (!knobs.wait_for[0])
		return false;
	BPF_CORE_READ_STR_INTO(&comm, task, comm);
	for (u32 i = 0; i < ABI_COMM_LEN; i++)
		if (comm[i] != knobs.wait_for[i])
			return false;
	return true;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(target_exec, struct task_struct *task)
{
	u32 pid = task->tgid;

	/* The new program has reached neither the begin nor the end function. */
	bpf_map_delete_elem(&windows, &pid);
	/* User space sets these again when the new program maps a libjvm, or has a service. */
	const u32 of_program = SELECT_JVM | SELECT_SERVICE;
	u32 *target = bpf_map_lookup_elem(&targets, &pid);
	if (target)
		*target &= ~(of_program | of_program << SELECT_EXCLUDE_SHIFT);
	if (is_waited_for(task))
		bpf_map_update_elem(&targets, &pid, &(u32){ SELECT_PID }, BPF_ANY);
	send_selection(RECORD_SELECTED_EXEC, task);
	return 0;
}

/* See proc_exit. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(target_exit, struct task_struct *task)
{
	if (task->signal->live.counter)
		return 0;

	u32 pid = task->tgid;
	bpf_map_delete_elem(&targets, &pid);
	bpf_map_delete_elem(&windows, &pid);
	return 0;
}

/*
 * Selects the children of processes that are selected by their PID, one generation in each pass,
 * and writes each as a struct task_id. target_fork must be attached: after a pass that finds no
 * child, none is missing.
 *
 * One pass may not find all, because the iterator visits processes in the order of their PIDs, and
 * a child may have a smaller PID than its parent. Example: process 130 is selected. It forked 900,
 * and 900 forked 120.
 *
 *	pass 1, process 120    its parent 900 is not selected: nothing happens
 *	pass 1, process 900    its parent 130 is selected: 900 is selected
 *	pass 2, process 120    its parent 900 is selected now: 120 is selected
 *	pass 3                 finds no child: all are selected
 */
SEC("iter/task")
int target_children(struct bpf_iter__task *ctx)
{
	const u32 inherited = SELECT_PID | SELECT_PID << SELECT_EXCLUDE_SHIFT;
	struct task_struct *task = ctx->task;

	if (!task || task->pid != task->tgid)
		return 0;
	u32 pid = task->tgid, parent_pid = BPF_CORE_READ(task, real_parent, tgid);
	u32 *parent = bpf_map_lookup_elem(&targets, &parent_pid);
	u32 *own = bpf_map_lookup_elem(&targets, &pid);
	u32 old = own ? *own : 0, mask = old | (parent ? *parent & inherited : 0);
	if (mask == old)
		return 0;
	bpf_map_update_elem(&targets, &pid, &mask, BPF_ANY);
	/* target_exit may have run before the update. */
	if (!BPF_CORE_READ(task, signal, live.counter)) {
		bpf_map_delete_elem(&targets, &pid);
		return 0;
	}
	struct task_id id = task_id_of(task);
	bpf_seq_write(ctx->meta->seq, &id, sizeof(id));
	return 0;
}

/* Writes every process that is a target as a struct task_id. */
SEC("iter/task")
int target_list(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task || task->pid != task->tgid || !target_is_wanted(task))
		return 0;
	struct task_id id = task_id_of(task);
	bpf_seq_write(ctx->meta->seq, &id, sizeof(id));
	return 0;
}
