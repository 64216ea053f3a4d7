/* SPDX-License-Identifier: Apache-2.0 */
/* Applies records to the node's processes and to its recordings. Part of capture/node_state.h. */
#include "base/time.h"
#include "capture/kernel/task.h"
#include "capture/node_state.h"
#include "capture/recording_apply.h"
#include "capture/recording_state.h"

/* The process executes another program, which may also be a JVM. */
static void forget_program(struct node *n, const struct process *p)
{
	unwinding_forget(n->unwinding, p);
	jvm_registry_remove(n->jvms, p->id);
	agents_forget(n->agents, p->id);
}

/*
 * Without selectors every process is a target. With selectors a selection_record follows a fork or
 * exec.
 */
static void set_up_if_all(struct node *n, struct process *p)
{
	vec_each(r, &n->recordings)
		if (!targets_select((*r)->options.targets))
			recording_admit(p, *r);
}

static void end_program(struct node *n, struct process *p, u64 time_ns)
{
	/* A runtime joins the group before it executes the container's program. */
	p->container_ns = 0;
	vec_each(r, &n->recordings)
		recording_end_program(*r, p);
	requests_forget(n->requests, p);
	process_exec(p, time_boot_ns() - (time_mono_ns() - time_ns));
}

static void apply_side_exec(struct node *n, struct process *p, const struct side_event *e)
{
	end_program(n, p, e->time_ns);
	process_set_name(p, e->comm);
	forget_program(n, p);
}

static void apply_side(struct node *n, const struct side_event *e)
{
	struct process *p = processes_newest(n->processes, e->pid);

	if (e->kind == SIDE_LOST) {
		n->nr_side_lost += e->nr_lost;
		processes_distrust(n->processes);
	}
	if (e->kind == SIDE_CODE)
		symbolizer_add_kernel_code(n->symbolizer, &e->mapping);
	if (!p)
		return;
	if (e->kind == SIDE_MMAP) {
		process_mmap(p, &e->mapping);
		vec_each(r, &n->recordings)
			recording_see_mapping(*r, p);
	} else if (e->kind == SIDE_EXEC) {
		apply_side_exec(n, p, e);
	} else if (e->kind == SIDE_COMM) {
		process_rename(p, e->comm);
	}
}

static void end_process(struct node *n, struct process *p, u64 time_ns)
{
	bool is_needed = false;

	p->exit_ns = time_ns;
	vec_each(r, &n->recordings) {
		recording_see_exit(*r, p);
		is_needed |= recording_needs_tables(*r, p);
	}
	if (!is_needed)
		unwinding_forget(n->unwinding, p);
}

static void apply_exit(struct node *n, const struct process_record *e)
{
	struct process *p = processes_find(n->processes, task_process(&e->task));

	if (!p || p->exit_ns)
		return;
	end_process(n, p, e->time_ns);
	if (e->signal && n->options.jvm_killed && process_is_whole_jvm(p))
		n->options.jvm_killed(p, e->signal, n->options.jvm_killed_ctx);
}

/*
 * BPF dropped the tables at exec, perhaps after user space had built new ones. The side band
 * reported the exec and the mappings since, unless it lost that.
 */
static void apply_exec(struct node *n, struct process *p, const struct process_record *e)
{
	if (!p->has_side_exec) {
		end_program(n, p, e->time_ns);
		p->mappings_stale = true;
	}
	p->has_side_exec = false;
	vec_each(r, &n->recordings)
		recording_take_samples_of(*r, p);
	process_set_name(p, e->comm);
	process_set_user(p, e->uid);
	vec_each(r, &n->recordings)
		recording_see_exec(*r, p);
	forget_program(n, p);
	set_up_if_all(n, p);
}

static void apply_fork(struct node *n, const struct process_record *e)
{
	struct process *p =
		processes_fork(n->processes, (pid_t)e->parent_pid, task_process(&e->task), e->comm);

	process_set_user(p, e->uid);
	set_up_if_all(n, p);
}

static void end_memory(struct node *n, pid_t pid, u64 time_ns)
{
	vec_each(r, &n->recordings)
		recording_see_end_of_memory(*r, pid, time_ns);
}

void node_apply_lost_exit(struct node *n, struct process *p, u64 time_ns)
{
	if (p == processes_newest(n->processes, p->id.pid))
		end_memory(n, p->id.pid, time_ns);
	end_process(n, p, time_ns);
}

static void apply_process(struct node *n, const struct process_record *e)
{
	struct process *p;

	switch (e->kind) {
	case RECORD_FORK:
		apply_fork(n, e);
		break;
	case RECORD_EXEC:
		end_memory(n, (pid_t)e->task.pid, e->time_ns);
		p = processes_newest(n->processes, (pid_t)e->task.pid);
		if (p)
			apply_exec(n, p, e);
		break;
	case RECORD_EXIT:
		end_memory(n, (pid_t)e->task.pid, e->time_ns);
		apply_exit(n, e);
		break;
	case RECORD_HEADLESS:
		p = processes_find(n->processes, task_process(&e->task));
		vec_each(r, &n->recordings)
			sources_lose_probes((*r)->sources, p);
		break;
	}
}

void node_apply(struct node *n, const struct item *item)
{
	if (item->kind == ITEM_SIDE)
		apply_side(n, &item->side);
	else if (item->kind == ITEM_PROCESS)
		apply_process(n, item->record);
	else
		recording_apply(item->recording, item);
}
