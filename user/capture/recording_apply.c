/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies records and changes of processes to a recording, and keeps its window, in which samples
 * count.
 */
#include "capture/recording_apply.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/kernel/task.h"
#include "capture/recording_state.h"
#include "capture/samples/raw_stack.h"
#include "capture/samples/samples.h"
#include "capture/samples/unwalked_samples.h"

static void set_window(struct recording *r, u64 begin_ns, u64 end_ns)
{
	r->window = (struct span){ begin_ns, end_ns };
	r->samples.begin_ns = begin_ns;
	sources_set_window(r->sources, &r->window);
}

void recording_begin_window(struct recording *r, u64 begin_ns)
{
	u64 length_ns = r->options.duration_ns;

	log_debug("the window of the recording begins");
	set_window(r, begin_ns, length_ns ? begin_ns + length_ns : TIME_NEVER);
	vec_each(sink, &r->samples.sinks)
		sink_begin(*sink, begin_ns, &r->before);
}

/*
 * With --wait-for the kernel samples from the first instruction of the program, but the window
 * begins when user space learns of the exec.
 */
void recording_open_window(struct recording *r)
{
	const struct span open = { time_mono_ns(), TIME_NEVER };

	if (r->window.begin_ns != TIME_NEVER) { /* the awaited program was executed before */
		set_window(r, r->window.begin_ns, r->window.end_ns);
		return;
	}
	if (!targets_are_waited_for(r->options.targets)) {
		recording_begin_window(r, open.begin_ns);
		return;
	}
	set_window(r, TIME_NEVER, TIME_NEVER);
	sources_set_window(r->sources, &open);
}

void recording_close_window(struct recording *r)
{
	u64 now_ns = time_mono_ns();
	u64 begin_ns = r->window.begin_ns < now_ns ? r->window.begin_ns : now_ns;
	u64 end_ns = r->window.end_ns < now_ns ? r->window.end_ns : now_ns;

	if (r->window.begin_ns == TIME_NEVER) /* the awaited program never began */
		recording_begin_window(r, now_ns);
	set_window(r, begin_ns, end_ns);
	/*
	 * Before programs_set_window returned, a CPU may have taken a sample younger than now_ns.
	 */
	if (end_ns == now_ns)
		r->window.end_ns = time_mono_ns();
}

bool recording_window_holds(const struct recording *r, u64 time_ns)
{
	return time_ns >= r->window.begin_ns && time_ns <= r->window.end_ns;
}

u64 recording_elapsed_ns(const struct recording *r)
{
	u64 now_ns = time_mono_ns();

	return now_ns > r->window.begin_ns ? now_ns - r->window.begin_ns : 0;
}

void recording_admit_jvm(struct recording *r, const struct process *p, bool wants_agent)
{
	if (!process_is_whole_jvm(p))
		return;
	dict_add(&r->jvms_seen, process_id_hash(p->id));
	if (wants_agent)
		agents_request(r->node->agents, p->id, p->program_ns,
			       r->needs_hooks ? &r->hooks : NULL);
}

bool recording_is_denied(const struct recording *r, struct process *p)
{
	const struct container *c = process_container(p, r->node->containers);

	return c && c->is_denied;
}

void recording_set_up(struct recording *r, struct process *p)
{
	/* Short programs cost most here: their rows are made from their files. */
	if (r->options.sampling.kernel_only || recording_is_denied(r, p))
		return;
	unwinding_want(r->node->unwinding, p);
	sources_add_process(r->sources, p);
	if (p->is_jvm && r->needs_hooks)
		recording_admit_jvm(r, p, true);
}

void recording_admit(struct process *p, void *ctx)
{
	struct recording *r = ctx;

	targets_admit(r->options.targets, p);
	recording_set_up(r, p);
}

static bool is_target(const struct recording *r, const struct process *p)
{
	return targets_hold(r->options.targets, p);
}

static void add_process(struct process *p, void *ctx)
{
	struct recording *r = ctx;

	if (!is_target(r, p))
		return;
	sources_add_process(r->sources, p);
	if (p->mappings.nr && !recording_is_denied(r, p))
		requests_follow(r->node->requests, p);
}

void recording_add_processes(struct recording *r)
{
	processes_each(r->node->processes, add_process, r);
}

static void count_quality(struct recording *r, const struct process *p, const struct sample *sample,
			  u32 stop)
{
	vec_each(sink, &r->samples.sinks) {
		struct cut *c = sink_at(*sink, sample->time_ns);
		if (c)
			quality_count(c->quality, p, stop, raw_stack_root_pc(sample));
	}
}

/*
 * Walks the stack if BPF left that to user space; drops the sample if another event already
 * reported it.
 */
static void take_sample(struct recording *r, struct process *p, const struct sample *sample)
{
	const struct event *event = sources_event(r->sources, sample);
	auto_free struct sample *walked = r->options.sampling.kernel_only
						  ? NULL
						  : unwinding_walk(r->node->unwinding, p, sample);

	if (walked)
		sample = walked;
	u32 stop = quality_stop(r->node->jvms, p, sample->stop, raw_stack_root_pc(sample));
	count_quality(r, p, sample, stop);
	if (sources_is_double(r->sources, event, sample, p))
		return;
	if (p->is_jvm && !r->options.sampling.kernel_only)
		recording_admit_jvm(r, p, r->options.agent != AGENT_NEVER);
	samples_take(&r->samples, p, event, sample, stop);
}

void recording_take_sample(struct recording *r, const struct sample *sample)
{
	struct process *p = samples_process(&r->samples, sample);

	if (recording_is_denied(r, p)) {
		r->nr_denied++;
		return;
	}
	/*
	 * Fixes the name, because a program is executed and selected under its name before the side
	 * band reports it.
	 */
	if (sample->task.tid == sample->task.pid)
		process_rename(p, sample->comm);
	process_keep_name(p);
	requests_follow(r->node->requests, p);
	if (!is_target(r, p) && !p->exit_ns)
		recording_admit(p, r);
	if (r->options.sampling.kernel_only ||
	    !unwinding_must_wait(r->node->unwinding, p, sample) ||
	    !unwalked_samples_keep(&r->unwalked_samples, sample))
		take_sample(r, p, sample);
}

static bool has_ended_window(const struct recording *r)
{
	return r->state == RECORDING_ENDS && r->ending != ENDING_PENDING;
}

enum virtual_wants recording_wants_virtual(const struct recording *r, const struct process *p)
{
	bool has_waits = false, has_locks = false;

	vec_each(e, &r->options.events->list) {
		has_waits |= sources_is_of_carriers(e);
		has_locks |= sources_is_of_locks(e);
	}
	if (!has_waits || r->options.sampling.kernel_only || r->state < RECORDING_RUNS ||
	    r->state > RECORDING_ENDS || has_ended_window(r) || r->window.begin_ns == TIME_NEVER ||
	    !is_target(r, p))
		return VIRTUAL_WANTS_NONE;
	return has_locks ? VIRTUAL_WANTS_LOCKS : VIRTUAL_WANTS_WAITS;
}

/* The time that passed in this window since the last look at the JVM. */
static u64 time_between(const struct recording *r, const struct virtual_sample *virtual,
			u64 time_ns)
{
	u64 since_ns = virtual->since_ns > r->window.begin_ns ? virtual->since_ns
							      : r->window.begin_ns;

	return time_ns > since_ns ? time_ns - since_ns : 0;
}

static void count_virtual(struct recording *r, const struct virtual_sample *virtual)
{
	vec_each(sink, &r->samples.sinks) {
		struct cut *c = sink_at(*sink, virtual->sample->time_ns);
		if (!c)
			continue;
		c->nr_virtual++;
		c->nr_late_virtual += virtual->is_late;
	}
}

void recording_take_virtual(struct recording *r, struct process *p,
			    const struct virtual_sample *virtual)
{
	struct sample *sample = (struct sample *)virtual->sample;
	u64 end_ns = r->window.end_ns;
	u64 time_ns = virtual->time_ns < end_ns ? virtual->time_ns : end_ns;
	u64 duration_ns = time_between(r, virtual, time_ns);

	if (!duration_ns || recording_is_denied(r, p))
		return;
	sample->time_ns = time_ns;
	sample->unit_ns = duration_ns;
	sample->weight = (u64)((double)duration_ns * virtual->share + drand48());
	count_virtual(r, virtual);
	for (size_t i = 0; i < r->options.events->list.nr; i++) {
		const struct event *event = &r->options.events->list.at[i];
		if (!sources_is_of_carriers(event))
			continue;
		sample->event = (u16)i;
		count_quality(r, p, sample, sample->stop);
		samples_take_virtual(&r->samples, p, event, virtual);
	}
}

static bool take_unwalked(const struct sample *sample, void *ctx)
{
	struct recording *r = ctx;
	struct process *p = samples_process(&r->samples, sample);

	take_sample(r, p, sample);
	if (p->exit_ns) /* its other waiting samples would bring the tables back */
		unwinding_forget(r->node->unwinding, p);
	return true;
}

static bool take_if_ready(const struct sample *sample, void *ctx)
{
	struct recording *r = ctx;
	struct process *p = samples_process(&r->samples, sample);

	return !unwinding_must_wait(r->node->unwinding, p, sample) && take_unwalked(sample, r);
}

void recording_take_unwalked(struct recording *r, bool all)
{
	unwalked_samples_each(&r->unwalked_samples, NULL, all ? take_unwalked : take_if_ready, r);
}

void recording_take_samples_of(struct recording *r, const struct process *p)
{
	unwalked_samples_each(&r->unwalked_samples, &p->id, take_unwalked, r);
}

void recording_end_program(struct recording *r, struct process *p)
{
	recording_take_samples_of(r, p);
	if (p->has_samples)
		vec_each(sink, &r->samples.sinks)
			sink_forget(*sink, p);
}

void recording_see_mapping(struct recording *r, struct process *p)
{
	if (p->is_jvm && !p->exit_ns)
		r->has_new_targets |= targets_set_jvm(r->options.targets, p->id.pid, true);
	if (is_target(r, p))
		recording_set_up(r, p);
}

void recording_see_exec(struct recording *r, const struct process *p)
{
	targets_set_jvm(r->options.targets, p->id.pid, p->is_jvm);
	r->has_new_targets |= p->is_jvm; /* mappings made since exec were already reported */
}

/*
 * BPF forgot the process when it ended. It may have been marked as a JVM since, by a mapping that
 * was applied late, or by its service. The mark would hold for the next process with this PID.
 */
void recording_see_exit(struct recording *r, const struct process *p)
{
	sources_remove_process(r->sources, p);
	targets_set_jvm(r->options.targets, p->id.pid, false);
	targets_set_service(r->options.targets, p->id.pid, NULL);
}

void recording_see_end_of_memory(struct recording *r, pid_t pid, u64 time_ns)
{
	live_allocs_end(&r->samples.live_allocs, pid, time_ns);
}

bool recording_needs_tables(const struct recording *r, const struct process *p)
{
	return unwalked_samples_has(&r->unwalked_samples, p->id);
}

static void judge(struct cut *c, void *process)
{
	quality_judge(c->quality, process);
}

void recording_forget(struct recording *r, struct process *p)
{
	vec_each(sink, &r->samples.sinks) {
		sink_each(*sink, judge, p);
		if (p->has_samples)
			sink_forget(*sink, p);
	}
	targets_drop(r->options.targets, p);
	r->nr_jvms_gone += dict_remove(&r->jvms_seen, process_id_hash(p->id));
}

/*
 * The process is set up at once, because it may never map or execute more, and a program may have
 * mapped all its files before its exec is reported. This ring is read before the node's, so that
 * the process's exec, mappings and exit may already have been applied.
 */
static void apply_selection(struct recording *r, const struct selection_record *s)
{
	struct process *p = processes_find(r->node->processes, task_process(&s->task));

	if (!p)
		return;
	if (s->kind == RECORD_SELECTED_EXEC && s->is_wanted && r->state < RECORDING_ENDS &&
	    targets_begin(r->options.targets, p->id))
		recording_begin_window(r, r->started_ns = s->time_ns);
	if (!s->is_wanted) {
		targets_drop(r->options.targets, p);
		/* a process may have been admitted as a JVM before that */
		r->has_new_targets |= p->is_jvm;
	} else if (!p->exit_ns) {
		recording_admit(p, r);
	}
}

void recording_apply(struct recording *r, const struct item *item)
{
	const struct freed_record *freed;

	switch (item->kind) {
	case ITEM_SELECTION:
		apply_selection(r, item->record);
		break;
	case ITEM_SAMPLE:
		if (!recording_window_holds(r, item->time_ns))
			break;
		if (!r->first_sample_ns)
			r->first_sample_ns = item->time_ns;
		recording_take_sample(r, item->record);
		break;
	case ITEM_FREED:
		freed = item->record;
		live_allocs_free(&r->samples.live_allocs, freed->tid, freed->sample_ns);
		break;
	default:
		break;
	}
}
