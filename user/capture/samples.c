/* SPDX-License-Identifier: Apache-2.0 */
/* Samples on their way into the profile. */
#include "capture/samples.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "profile/method.h"

#define AGENT_LAG_NS      (500 * NS_PER_MS) /* live events come up to 45 ms late */
#define WAITING_BYTES_MAX (64u << 20)

void samples_fini(struct samples *s)
{
	waiting_fini(&s->waiting);
	held_fini(&s->held);
	monitorwaits_fini(&s->monitorwaits);
	vec_fini(&s->frames);
	vec_fini(&s->unnamed);
	vec_fini(&s->user);
}

struct process *samples_process(struct samples *s, const struct sample *sample)
{
	return processes_get(s->processes, (pid_t)sample->task.pid, sample->task.start_ns,
			     sample->comm);
}

void samples_foresee(struct samples *s, const struct sample *sample)
{
	const struct process *p =
		processes_find(s->processes, (pid_t)sample->task.pid, sample->task.start_ns);

	if (!p || !p->is_jvm)
		return;
	struct raw_stack stack = raw_stack_of(sample, 0, &s->user);
	symbolize_early(s->symbolizer, p, &stack);
}

static void count_frame(struct samples *s, const struct process *p, frame_id id)
{
	enum frame_kind kind = frames_get(s->profile->frames, id)->kind;
	bool is_named = symbolizer_is_named(s->symbolizer, id);
	bool may_be_java = frame_kind_is_java(kind) || (p->is_jvm && kind == FRAME_UNKNOWN);

	s->nr_frames++;
	s->nr_named += is_named;
	s->nr_java += may_be_java;
	s->nr_java_named += may_be_java && is_named;
}

/* The begin of waits that began with the recording is unknown: maybe before the agent came. */
static u64 lock_hook_since(const struct samples *s, const struct process *p)
{
	u64 hook_ns = agents_tell_since(s->agents, p->jvm_pid, p->jvm_start_ns, AGENT_HOOK_LOCK);
	u64 waits_ns = sources_waits_since(s->sources);

	return hook_ns && hook_ns < waits_ns ? waits_ns : hook_ns;
}

static void add_to_profile(struct samples *s, struct process *p, const struct sample *sample,
			   struct sample_weight weight, frame_list *frames)
{
	const struct named_stack stack = {
		.sample = sample,
		.weight = &weight,
		.lock_hook_since_ns = lock_hook_since(s, p),
		.monitorwaits = &s->monitorwaits,
		.symbolizer = s->symbolizer,
		.all = s->profile->frames,
		.frames = frames,
	};
	if (!sources_keep(s->sources, &stack))
		return;
	bool by_state = sources_by_state(s->sources, sample->event);
	struct place place;

	if (!levels_place(&s->levels, p, sample, by_state, &place)) {
		s->nr_other_threads++;
		held_forget(&s->held, sample->task.tid, sample->time_ns);
		return;
	}
	node_id node = place.node;
	for (size_t i = frames->nr; i-- > 0;) {
		count_frame(s, p, frames->at[i]);
		node = profile_child(s->profile, node, frames->at[i]);
	}
	const struct event *event = &s->events->list.at[sample->event];
	struct held_weight held = {
		.node = node,
		.labels = place.labels,
		.type = s->types[sample->event],
		.value = weight.value,
		.has_samples = event->is_weighed,
	};
	if (event_count_unit(event))
		held.count = weight.count;
	if (sources_is_held(s->sources, sample->event, &held.age_ns))
		held_name(&s->held, sample->task.tid, sample->time_ns, &held, s->profile);
	else
		held_weigh(&held, s->profile);
}

/* Whether an agent may still tell names that a sample of that time lacks. */
static bool may_wait(const struct samples *s, const struct process *p, u64 time_ns)
{
	u64 now = time_mono_ns(), age = now > time_ns ? now - time_ns : 0;

	switch (agents_state(s->agents, p->jvm_pid, p->jvm_start_ns)) {
	case AGENT_PENDING:
		return age < AGENT_PENDING_NS;
	case AGENT_ATTACHED:
		return age < AGENT_LAG_NS;
	default:
		return false;
	}
}

void samples_take(struct samples *s, struct process *p, const struct sample *sample)
{
	struct sample_weight weight = sources_weigh(s->sources, sample);
	u64 age_ns;

	s->frames.nr = s->unnamed.nr = 0;
	s->nr_approximate += raw_is_approximate(sample);
	struct raw_stack stack =
		raw_stack_of(sample, sources_frames_to_skip(s->sources, sample), &s->user);
	if (sources_is_held(s->sources, sample->event, &age_ns))
		held_begin(&s->held, (pid_t)sample->task.pid, sample->task.tid, sample->time_ns);
	symbolize(s->symbolizer, p, &stack, &s->frames, &s->unnamed);
	if (s->unnamed.nr && s->waiting.bytes < WAITING_BYTES_MAX &&
	    may_wait(s, p, sample->time_ns))
		waiting_add(&s->waiting, sample, weight, &s->frames, &s->unnamed);
	else
		add_to_profile(s, p, sample, weight, &s->frames);
}

/* The sample goes into the profile if it has its names now or nothing more will come. */
static bool retry(struct waiting_sample *w, void *ctx)
{
	struct samples *s = ctx;
	struct process *p = samples_process(s, &w->head);
	bool may_come = may_wait(s, p, w->head.time_ns);

	/* While the attach is under way there is nothing new to ask. */
	if (may_come && agents_state(s->agents, p->jvm_pid, p->jvm_start_ns) == AGENT_PENDING)
		return false;
	if (symbolize_again(s->symbolizer, p, w->head.time_ns, &w->frames, &w->unnamed) && may_come)
		return false;
	add_to_profile(s, p, &w->head, w->weight, &w->frames);
	return true;
}

static bool give_up(struct waiting_sample *w, void *ctx)
{
	struct samples *s = ctx;

	add_to_profile(s, samples_process(s, &w->head), &w->head, w->weight, &w->frames);
	return true;
}

void samples_retry(struct samples *s)
{
	waiting_retry(&s->waiting, retry, s);
}

static bool tell_live(pid_t pid, u32 tid, u64 sample_ns, void *held)
{
	return held_lives(held, pid, tid, sample_ns);
}

/* False if the kernel does not tell; then nothing of it may be judged. */
static bool ask_what_lives(struct samples *s)
{
	if (!s->held.samples.nr)
		return true;
	int err = bpf_each_live(sources_bpf(s->sources), tell_live, &s->held);
	if (err)
		log_warn("which memory was not freed cannot be read: %s; it is left out",
			 strerror(-err));
	return !err;
}

void samples_judge_ended(struct samples *s)
{
	if (held_is_due(&s->held) && ask_what_lives(s))
		held_judge(&s->held, s->profile);
}

void samples_finish(struct samples *s, u64 ended_ns)
{
	for (u64 end = time_mono_ns() + AGENT_PENDING_NS;
	     s->waiting.samples.nr && time_mono_ns() < end;) {
		usleep(20 * 1000);
		agents_poll(s->agents);
		samples_retry(s);
	}
	waiting_retry(&s->waiting, give_up, s);
	if (ask_what_lives(s))
		held_release(&s->held, ended_ns, s->profile);
}
