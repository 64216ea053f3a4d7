/* SPDX-License-Identifier: Apache-2.0 */
/* Applies records to a recording, in order of time. */
#include "capture/session_apply.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/time.h"
#include "capture/kernel/task.h"
#include "capture/session_state.h"
#include "capture/session_window.h"

void session_admit_jvm(struct session *s, const struct process *p, bool wants_agent)
{
	if (!process_is_whole_jvm(p))
		return;
	dict_add(&s->jvms_seen, process_id_hash(p->id));
	if (wants_agent)
		agents_request(s->agents, p->id, p->program_ns);
}

/* The process executes another program, which may also be a JVM. */
static void forget_program(struct session *s, const struct process *p)
{
	unwinding_forget(s->unwinding, p);
	jvm_registry_remove(s->jvms, p->id);
	agents_forget(s->agents, p->id);
}

/* The target is new or has new mappings. */
static void set_up(struct session *s, const struct process *p)
{
	unwinding_want(s->unwinding, p);
	sources_add_process(s->sources, p);
	if (p->is_jvm && s->has_hooks)
		session_admit_jvm(s, p, true);
}

void session_admit(struct process *p, void *ctx)
{
	struct session *s = ctx;

	targets_admit(s->options.targets, p);
	set_up(s, p);
}

static bool is_target(const struct session *s, const struct process *p)
{
	return targets_hold(s->options.targets, p);
}

/*
 * Walks the stack if BPF left that to user space; drops the sample if another event already
 * reported it.
 */
static void take_sample(struct session *s, struct process *p, const struct sample *sample)
{
	const struct event *event = sources_event(s->sources, sample);
	auto_free struct sample *walked = unwinding_walk(s->unwinding, p, sample);

	if (walked)
		sample = walked;
	quality_count(s->quality, p, sample->stop, raw_stack_root_pc(sample));
	if (sources_is_double(s->sources, event, sample, p))
		return;
	if (p->is_jvm)
		session_admit_jvm(s, p, s->options.agent != AGENT_NEVER);
	samples_take(&s->samples, p, event, sample);
}

void session_take_sample(struct session *s, const struct sample *sample)
{
	struct process *p = samples_process(&s->samples, sample);

	/*
	 * Fixes the name, because a program is executed and selected under its name before the side
	 * band reports it.
	 */
	if (sample->task.tid == sample->task.pid)
		process_rename(p, sample->comm);
	process_keep_name(p);
	if (!is_target(s, p) && !p->exit_ns)
		session_admit(p, s);
	if (!unwinding_must_wait(s->unwinding, p, sample) ||
	    !unwalked_samples_keep(&s->unwalked_samples, sample))
		take_sample(s, p, sample);
}

static bool take_unwalked(const struct sample *sample, void *ctx)
{
	struct session *s = ctx;
	struct process *p = samples_process(&s->samples, sample);

	take_sample(s, p, sample);
	if (p->exit_ns) /* its other samples that wait bring the tables back */
		unwinding_forget(s->unwinding, p);
	return true;
}

static bool take_if_ready(const struct sample *sample, void *ctx)
{
	struct session *s = ctx;
	struct process *p = samples_process(&s->samples, sample);

	return !unwinding_must_wait(s->unwinding, p, sample) && take_unwalked(sample, s);
}

void session_take_unwalked(struct session *s, bool all)
{
	unwalked_samples_each(&s->unwalked_samples, NULL, all ? take_unwalked : take_if_ready, s);
}

/* The process changes: its samples so far are walked by the mappings that it had. */
static void take_samples_of(struct session *s, const struct process *p)
{
	unwalked_samples_each(&s->unwalked_samples, &p->id, take_unwalked, s);
}

static void apply_side(struct session *s, const struct side_event *e)
{
	struct process *p = processes_newest(s->processes, e->pid);

	if (e->kind == SIDE_LOST)
		processes_distrust(s->processes);
	if (!p)
		return;
	if (e->kind == SIDE_MMAP) {
		process_mmap(p, &e->mapping);
		if (p->is_jvm && !p->exit_ns)
			s->has_new_targets |= targets_set_jvm(s->options.targets, p->id.pid, true);
		if (is_target(s, p))
			set_up(s, p);
	} else if (e->kind == SIDE_EXEC) {
		take_samples_of(s, p);
		process_exec(p);
		process_set_name(p, e->comm);
		forget_program(s, p);
	} else if (e->kind == SIDE_COMM) {
		process_rename(p, e->comm);
	}
}

static void apply_exit(struct session *s, const struct process_record *r)
{
	struct process *p = processes_find(s->processes, task_process(&r->task));

	live_allocs_end(&s->samples.live_allocs, (pid_t)r->task.pid, r->time_ns);
	if (p && !p->exit_ns) {
		p->exit_ns = r->time_ns;
		sources_remove_process(s->sources, p);
		if (!unwalked_samples_has(&s->unwalked_samples, p->id))
			unwinding_forget(s->unwinding, p);
	}
}

/*
 * The process is set up at once, because it may never map or execute more, and a program may have
 * mapped all its files before its exec is reported.
 */
static void follow_selection(struct session *s, struct process *p, const struct process_record *r)
{
	if (r->is_wanted)
		session_admit(p, s);
	else
		targets_drop(s->options.targets, p);
}

/* BPF dropped the tables at exec, perhaps after user space had built new ones. */
static void apply_exec(struct session *s, struct process *p, const struct process_record *r)
{
	take_samples_of(s, p);
	process_set_name(p, r->comm);
	process_set_user(p, r->uid);
	if (r->is_wanted && targets_begin(s->options.targets, p->id))
		session_begin_window(s, s->started_ns = r->time_ns);
	targets_set_jvm(s->options.targets, p->id.pid, p->is_jvm);
	s->has_new_targets |= p->is_jvm; /* mappings made since exec were already reported */
	forget_program(s, p);
	follow_selection(s, p, r);
}

static void apply_process(struct session *s, const struct process_record *r)
{
	pid_t pid = (pid_t)r->task.pid;
	struct process *p;

	switch (r->kind) {
	case RECORD_FORK:
		p = processes_fork(s->processes, (pid_t)r->parent_pid, task_process(&r->task),
				   r->comm);
		process_set_user(p, r->uid);
		follow_selection(s, p, r);
		break;
	case RECORD_EXEC:
		p = processes_newest(s->processes, pid);
		live_allocs_end(&s->samples.live_allocs, pid, r->time_ns);
		if (p)
			apply_exec(s, p, r);
		break;
	case RECORD_EXIT:
		apply_exit(s, r);
		break;
	case RECORD_HEADLESS:
		sources_lose_probes(s->sources,
				    processes_find(s->processes, task_process(&r->task)));
		break;
	}
}

void session_apply(struct session *s, struct item *item)
{
	const struct freed_record *freed;

	switch (item->kind) {
	case ITEM_SIDE:
		apply_side(s, &item->side);
		break;
	case ITEM_PROCESS:
		apply_process(s, item->record);
		break;
	case ITEM_SAMPLE:
		if (!session_window_holds(s, item->time_ns))
			break;
		if (!s->first_sample_ns)
			s->first_sample_ns = item->time_ns;
		session_take_sample(s, item->record);
		break;
	case ITEM_FREED:
		freed = item->record;
		live_allocs_free(&s->samples.live_allocs, freed->tid, freed->sample_ns);
		break;
	}
}
