/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps in which a recording begins and ends, and the stacks of threads that still wait then,
 * walked in user space. Part of capture/recording_state.h.
 */
#include <stdlib.h>

#include "base/time.h"
#include "capture/events/function_window.h"
#include "capture/kernel/task.h"
#include "capture/recording_apply.h"
#include "capture/recording_state.h"
#include "capture/samples/samples.h"
#include "capture/samples/unwalked_samples.h"
#include "capture/unwind/thread_regs.h"
#include "capture/unwind/walker.h"
#include "jvm/process/process_names.h"
#include "stat.h"

/* after this time the window begins, even if agents and probes are missing */
#define SET_UP_NS   NS_PER_SEC
#define ROWS_NS     NS_PER_SEC        /* for the last stacks */
#define NAMES_NS    (20 * NS_PER_SEC) /* for the last names */
#define SETTLING_NS (100 * NS_PER_MS) /* from a sample's time until its record is in the ring */

/* Starts the window. The libraries of agents that report by now have their probes. */
static void run(struct recording *r)
{
	r->error = sources_start(r->sources);
	r->state = r->error ? RECORDING_DONE : RECORDING_RUNS;
	if (r->error)
		return;
	recording_add_processes(r); /* the last sources may be probes */
	recording_open_window(r);
	r->set_up_ns = time_mono_ns() - r->began_ns;
	r->set_up_worked_ns = time_worked_ns() - r->worked_ns;
}

static void begin(struct recording *r)
{
	bool agents_attach = r->needs_hooks && agents_are_attaching(r->node->agents);

	if ((!agents_attach && !sources_are_being_prepared(r->sources)) ||
	    time_mono_ns() > r->began_ns + SET_UP_NS)
		run(r);
}

static struct sample *sample_of(const struct blocked_thread *p, const struct sources_wait *wait,
				const struct node *n)
{
	const struct process *of = processes_find(n->processes, task_process(&p->sample.task));
	u64 context[REQUEST_WORDS];
	const struct thread_regs regs = thread_regs_of_wait(p);
	struct walked walked = { 0 };
	bool known = !walker_walk(unwinding_tables(n->unwinding), (pid_t)p->sample.task.pid, &regs,
				  p->start_stack, &walked);
	struct sample head = p->sample;

	head.event = (u16)wait->number;
	head.weight = wait->waited_ns;
	head.unit_ns = wait->unit_ns;
	if (wait->is_idle)
		head.state = STATE_IDLE;
	head.nr_context = of ? requests_read(n->requests, of, p->tls, context) : 0;
	if (!known)
		walked.reason = STAT_NO_MAPPING;
	struct sample *s = walked_sample(&walked, &head, p->kernel, context);
	walked_fini(&walked);
	s->kind = RECORD_PENDING;
	return s;
}

struct walk {
	const struct node *node;
	VEC(struct sample *) samples;
	VEC(u64) since; /* the begin of the wait of each sample */
};

static void walk_thread(const struct blocked_thread *p, const struct sources_wait *wait, void *ctx)
{
	struct walk *walk = ctx;

	vec_push(&walk->samples, sample_of(p, wait, walk->node));
	vec_push(&walk->since, p->sample.weight);
}

/*
 * First pass over the waiting threads: requests tables for their processes, whose stacks will be
 * walked.
 */
static void want_tables(const struct blocked_thread *p, const struct sources_wait *wait, void *ctx)
{
	struct node *n = ctx;

	unwinding_want(n->unwinding,
		       processes_get(n->processes, task_process(&p->sample.task), p->sample.comm));
}

/*
 * Adds a sample for each event and each thread that waits now, as the kernel has sent none for it.
 * Threads that resumed before their walk ended are left out: part of the walk may have seen another
 * stack. The user stack is missing without the right to read the process's memory.
 */
static void walk_blocked(struct recording *r)
{
	struct walk walk = { .node = r->node };
	struct dict since = { 0 };

	sources_blocked(r->sources, walk_thread, &walk);
	sources_last_blocked(r->sources, &since);
	for (size_t i = 0; i < walk.samples.nr; i++) {
		struct sample *sample = walk.samples.at[i];
		const u64 *since_ns = dict_find(&since, sample->task.tid);
		if (since_ns && *since_ns == walk.since.at[i])
			vec_push(&r->pending, sample);
		else
			free(sample);
	}
	vec_fini(&walk.samples);
	vec_fini(&walk.since);
	dict_fini(&since);
}

static void walk_pending(struct recording *r)
{
	struct node *n = r->node;

	sources_blocked(r->sources, want_tables, n);
	unwinding_update(n->unwinding, n->processes);
	walk_blocked(r);
}

static void take_pending(struct recording *r)
{
	vec_each(sample, &r->pending) {
		recording_take_sample(r, *sample);
		free(*sample);
	}
	vec_fini(&r->pending);
}

static void finish(struct recording *r)
{
	struct loss_counts now;

	samples_finish(&r->samples, r->window.end_ns);
	recording_losses(r, &now);
	vec_each(sink, &r->samples.sinks)
		sink_end(*sink, r->window.end_ns, &now);
	r->settled_ns = TIME_NEVER;
	r->state = RECORDING_DONE;
}

/* Whether the step is over. If so, begins the next one. */
static bool end_step(struct recording *r, u64 waited_ns)
{
	struct agents *agents = r->node->agents;
	bool is_live = r->options.sampling.live;

	switch (r->ending) {
	case ENDING_PENDING:
		walk_pending(r);
		return true;
	case ENDING_WALKED:
		take_pending(r);
		return true;
	case ENDING_REFS:
		if (is_live)
			agents_report_refs(agents, &r->hooks);
		return true;
	case ENDING_ANSWERS:
		return !is_live || !agents_owe_refs(agents, &r->hooks);
	case ENDING_SOURCES:
		sources_stop(r->sources);
		function_window_report(r->sources);
		return true;
	case ENDING_UNWALKED:
		if (r->unwalked_samples.list.nr && waited_ns < ROWS_NS)
			return false;
		recording_take_unwalked(r, true);
		return true;
	case ENDING_NAMES:
		if (r->samples.waiting.list.nr && waited_ns < NAMES_NS)
			return false;
		finish(r);
		return true;
	}
	return true;
}

static void end(struct recording *r)
{
	u64 now_ns = time_mono_ns();

	if (!end_step(r, now_ns - r->step_ns))
		return;
	r->step_ns = now_ns;
	r->ending++;
}

/* The time until which all samples have arrived and were added. */
static u64 settled(const struct recording *r)
{
	u64 settled_ns = r->node->turn_ns - SETTLING_NS;
	u64 named_ns = samples_oldest_ns(&r->samples);
	u64 walked_ns = unwalked_samples_oldest_ns(&r->unwalked_samples);

	settled_ns = named_ns < settled_ns ? named_ns : settled_ns;
	return walked_ns < settled_ns ? walked_ns : settled_ns;
}

void recording_step(struct recording *r)
{
	if (r->state == RECORDING_BEGINS)
		begin(r);
	else if (r->state == RECORDING_ENDS)
		end(r);
	if (r->state != RECORDING_DONE)
		r->settled_ns = settled(r);
}

static void find_service(struct process *p, void *ctx)
{
	struct recording *r = ctx;
	const struct node *n = r->node;

	if (p->exit_ns)
		return;
	const char *command = p->is_jvm ? jvm_registry_command(n->jvms, p->id) : NULL;
	const struct process_names *names =
		process_names_update(p, command, process_container(p, n->containers), false);
	r->has_new_targets |= targets_set_service(r->options.targets, p->id.pid, names->service);
}

bool recording_find_services(struct recording *r)
{
	bool had_new = r->has_new_targets;

	r->has_new_targets = false;
	if (targets_need_services(r->options.targets))
		processes_each(r->node->processes, find_service, r);
	bool has_new = r->has_new_targets;
	r->has_new_targets |= had_new;
	return has_new;
}

/*
 * The kernel decides at each sample whether the process is a target. A process may become a target
 * without a fork or exec, and then take no sample. Only a search finds such a process. The search
 * is needed to place probes in its files, or to learn that there is a target at all.
 */
void recording_follow(struct recording *r)
{
	const struct targets *t = r->options.targets;

	samples_judge_ended(&r->samples);
	targets_follow(r->options.targets);
	r->has_new_targets = recording_find_services(r) ||
			     (targets_may_change(t) &&
			      (sources_are_placed(r->sources) || !targets_have_matched(t)));
}
