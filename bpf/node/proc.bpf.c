// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Process lifecycle: fork, exec, exit. Mappings come from perf (docs/decisions/0001). The programs
 * of follow.bpf.c run after these, because every recording is attached later.
 */
#include "node/tables.h"
#include "records.h"
#include "task.h"

#define SIGNAL_GROUP_EXIT 0x4 /* include/linux/sched/signal.h: all threads must end */

/*
 * The signal that ended the process, as wait_task_zombie (kernel/exit.c) reports it; bit 7 marks a
 * core dump.
 */
static __always_inline u32 ending_signal(struct task_struct *task)
{
	struct signal_struct *signal = task->signal;
	int status = signal->flags & SIGNAL_GROUP_EXIT ? signal->group_exit_code : task->exit_code;

	return status & 0x7f;
}

/* `parent` is NULL unless kind is RECORD_FORK. */
static __always_inline void send_process(u32 kind, struct task_struct *task,
					 struct task_struct *parent)
{
	struct process_record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);

	if (!r) {
		count(STAT_EVENT_LOST);
		return;
	}
	r->kind = kind;
	r->parent_pid = parent ? BPF_CORE_READ(parent, tgid) : 0;
	r->task = task_id_of(task);
	r->time_ns = bpf_ktime_get_ns();
	/* at a fork this is the parent's user, which the child inherits */
	r->uid = (u32)bpf_get_current_uid_gid();
	r->signal = kind == RECORD_EXIT ? ending_signal(task) : 0;
	BPF_CORE_READ_STR_INTO(&r->comm, task, comm);
	bpf_ringbuf_submit(r, records_flags());
}

/*
 * A child has its parent's mappings. User space soon replaces the copy by the child's own tables.
 */
static __always_inline void inherit_tables(u32 parent_pid, u32 pid, u64 start_ns)
{
	struct unwind_proc *parent = bpf_map_lookup_elem(&unwind_procs, &parent_pid);
	if (!parent || parent->inherited_ns)
		return;

	struct unwind_proc child = *parent;
	child.pid = pid;
	child.start_ns = start_ns;
	child.used_ns = child.inherited_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&unwind_procs, &pid, &child, BPF_ANY);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(proc_fork, struct task_struct *parent, struct task_struct *child)
{
	if (child->pid != child->tgid)
		return 0;

	u32 parent_pid = parent->tgid, pid = child->tgid;
	inherit_tables(parent_pid, pid, child->start_boottime);
	send_process(RECORD_FORK, child, parent);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(proc_exec, struct task_struct *task)
{
	u32 pid = task->tgid;

	/* The process keeps pid and start time, but its mappings are gone: remove its tables. */
	bpf_map_delete_elem(&unwind_procs, &pid);
	bpf_map_delete_elem(&context_places, &pid);
	bpf_map_delete_elem(&java_places, &pid);
	send_process(RECORD_EXEC, task, NULL);
	return 0;
}

/* Before Linux 5.17 the field had another name. */
struct signal_struct___exit {
	struct task_struct *group_exit_task;
} __attribute__((preserve_access_index));

/*
 * Whether another thread of the group is executing a program: that thread ends the others and takes
 * the leader's place and ids.
 */
static __always_inline bool is_executing(struct signal_struct *signal)
{
	struct signal_struct___exit *old = (void *)signal;

	return bpf_core_field_exists(signal->group_exec_task) ? signal->group_exec_task != NULL
							      : old->group_exit_task != NULL;
}

/*
 * The last thread's exit; the leader may have ended long before. do_exit decrements `live` before
 * this point, so two threads that exit at once may both see 0 and both send a record.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(proc_exit, struct task_struct *task)
{
	if (task->signal->live.counter) {
		if (task->pid == task->tgid && !(task->signal->flags & SIGNAL_GROUP_EXIT) &&
		    !is_executing(task->signal))
			send_process(RECORD_HEADLESS, task, NULL);
		return 0;
	}

	u32 pid = task->tgid;
	struct unwind_proc *proc = bpf_map_lookup_elem(&unwind_procs, &pid);
	if (proc && proc->inherited_ns) /* user space does not know this copy */
		bpf_map_delete_elem(&unwind_procs, &pid);
	bpf_map_delete_elem(&context_places, &pid);
	bpf_map_delete_elem(&java_places, &pid);
	send_process(RECORD_EXIT, task, NULL);
	return 0;
}
