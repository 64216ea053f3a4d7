/* SPDX-License-Identifier: Apache-2.0 */
/* Samples on their way into the profile. */
#include "capture/samples/samples.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "capture/kernel/task.h"
#include "jvm/hotspot/regions.h"
#include "profile/method.h"

#define AGENT_LAG_NS      (500 * NS_PER_MS) /* events arrive up to 45 ms late */
#define AGENT_LATE_NS     (20 * NS_PER_SEC) /* an attach is given up before that */
#define FILE_LATE_NS      (5 * NS_PER_SEC)  /* then a frame goes without the name in a file */
#define UNNAMED_BYTES_MAX (64u << 20)

void samples_fini(struct samples *s)
{
	unnamed_samples_fini(&s->unnamed_samples);
	live_allocs_fini(&s->live_allocs);
	monitorwaits_fini(&s->monitorwaits);
	vec_fini(&s->current.frames);
	vec_fini(&s->current.unnamed);
	vec_fini(&s->user);
}

struct process *samples_process(struct samples *s, const struct sample *sample)
{
	return processes_get(s->processes, task_process(&sample->task), sample->comm);
}

void samples_foresee(struct samples *s, const struct sample *sample)
{
	const struct process *p = processes_find(s->processes, task_process(&sample->task));

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
	s->nr_inferred += symbolizer_is_inferred(s->symbolizer, id);
	s->nr_java += may_be_java;
	s->nr_java_named += may_be_java && is_named;
}

/*
 * For a wait that began before the window only the window's begin is known. It may have begun
 * before the agent reported, so the agent's report starts 1 ns later.
 */
static u64 lock_hook_since(const struct samples *s, const struct process *p)
{
	u64 hook_ns = agents_report_since(s->agents, p->jvm, AGENT_HOOK_LOCK);
	u64 begin_ns = s->levels.window.begin_ns;

	return hook_ns && hook_ns <= begin_ns ? begin_ns + 1 : hook_ns;
}

/* The number of samples is not divided; it stands with the largest part. */
static size_t largest_part(const struct place *place)
{
	size_t largest = 0;

	for (size_t i = 1; i < place->nr_parts; i++)
		if (place->parts[i].value > place->parts[largest].value)
			largest = i;
	return largest;
}

static void add_weight(struct samples *s, const struct unnamed_sample *named, node_id node,
		       const struct place *place)
{
	const struct event *event = named->event;
	const struct sample *sample = &named->head;
	size_t largest = largest_part(place);

	for (size_t i = 0; i < place->nr_parts; i++) {
		if (!place->parts[i].value && i != largest)
			continue;
		struct live_alloc_weight weighed = {
			.node = node,
			.labels = place->parts[i].labels,
			.type = s->types[sample->event],
			.value = place->parts[i].value,
			.has_samples = event->is_weighed && i == largest,
			.event = sample->event,
			.stop = sample->stop,
			.is_counted = i == largest,
		};
		if (event_count_unit(event) && i == largest)
			weighed.count = named->weight.count;
		if (sources_is_live_only(s->sources, event, &weighed.age_ns))
			live_allocs_name(&s->live_allocs, sample->task.tid, sample->time_ns,
					 &weighed, s->profile);
		else
			live_allocs_weigh(&s->live_allocs, &weighed, s->profile);
	}
}

/* NULL if the process is not a JVM, or not yet known as one. */
static struct hotspot *hotspot_of(const struct samples *s, const struct process *p)
{
	return jvm_registry_find(s->levels.jvms, p->jvm);
}

/* Whether the memory is that of a starting JVM whose regions are not yet known. */
static bool is_early(const struct samples *s, const struct process *p, const struct sample *sample)
{
	if (sample->mapped <= MAPPED_STACK || !p->is_jvm || p->exit_ns ||
	    time_mono_ns() >= sample->time_ns + AGENT_PENDING_NS)
		return false;
	struct hotspot *h = hotspot_of(s, p);
	return !h || hotspot_region(h, sample->mapped) == JVM_REGION_UNKNOWN;
}

static void add_to_profile(struct samples *s, struct process *p, struct unnamed_sample *named)
{
	const struct sample *sample = &named->head;
	const struct named_stack stack = {
		.event = named->event,
		.sample = sample,
		.weight = &named->weight,
		.lock_hook_since_ns = lock_hook_since(s, p),
		.monitorwaits = &s->monitorwaits,
		.hotspot = sample->mapped ? hotspot_of(s, p) : NULL,
		.symbolizer = s->symbolizer,
		.all = s->profile->frames,
		.frames = &named->frames,
	};
	if (!sources_keep(&stack)) {
		live_allocs_forget(&s->live_allocs, sample->task.tid, sample->time_ns);
		return;
	}
	struct place place;
	const struct place_traits traits = {
		.by_state = sources_by_state(named->event),
		.leaf_is_inexact = named->leaf_is_inexact,
	};

	if (!levels_place(&s->levels, p, sample, &named->weight, traits, &place)) {
		s->nr_other_threads++;
		live_allocs_forget(&s->live_allocs, sample->task.tid, sample->time_ns);
		return;
	}
	bool is_left_out;
	const char *group = sources_group(s->sources, &stack, &is_left_out);
	if (is_left_out) {
		s->reserved_bytes += named->weight.value;
		live_allocs_forget(&s->live_allocs, sample->task.tid, sample->time_ns);
		return;
	}
	node_id node = place.node;
	if (group)
		node = profile_child(s->profile, node, symbolizer_group(s->symbolizer, group));
	for (size_t i = named->frames.nr; i-- > 0;) {
		count_frame(s, p, named->frames.at[i]);
		node = profile_child(s->profile, node, named->frames.at[i]);
	}
	add_weight(s, named, node, &place);
}

static bool lacks(const unnamed_list *unnamed, enum name_source source)
{
	vec_each(u, unnamed)
		if (u->source == source)
			return true;
	return false;
}

/*
 * Whether a worker or an agent may still report names that the sample lacks. The ring shows
 * everything reported by the sample's time, however late it is read. An attached agent has reported
 * its classes, however late the attach ends.
 */
static bool may_wait(const struct samples *s, const struct process *p, u64 time_ns,
		     const unnamed_list *unnamed)
{
	u64 now = time_mono_ns(), age = now > time_ns ? now - time_ns : 0;

	if (lacks(unnamed, NAME_IN_FILE) && age < FILE_LATE_NS)
		return true;
	switch (agents_state(s->agents, p->jvm)) {
	case AGENT_PENDING:
		return age < (lacks(unnamed, NAME_OF_CLASS) ? AGENT_LATE_NS : AGENT_PENDING_NS);
	case AGENT_ATTACHED:
		return age < AGENT_LATE_NS &&
		       agents_read_until(s->agents, p->jvm) < time_ns + AGENT_LAG_NS;
	default:
		return false;
	}
}

void samples_take(struct samples *s, struct process *p, const struct event *event,
		  const struct sample *sample)
{
	struct unnamed_sample *current = &s->current;
	u64 age_ns;

	current->head = *sample;
	current->event = event;
	current->weight = sources_weigh(s->sources, event, sample);
	current->frames.nr = current->unnamed.nr = 0;
	s->nr_approximate += raw_stack_is_approximate(sample);
	struct raw_stack stack =
		raw_stack_of(sample, sources_frames_to_skip(s->sources, event, sample), &s->user);
	if (sources_is_live_only(s->sources, event, &age_ns))
		live_allocs_begin(&s->live_allocs, (pid_t)sample->task.pid, sample->task.tid,
				  sample->time_ns);
	symbolize(s->symbolizer, p, &stack, &current->frames, &current->unnamed);
	current->leaf_is_inexact = symbolizer_leaf_is_inexact(s->symbolizer);
	if (s->unnamed_samples.bytes < UNNAMED_BYTES_MAX &&
	    (is_early(s, p, sample) ||
	     (current->unnamed.nr && may_wait(s, p, sample->time_ns, &current->unnamed))))
		unnamed_samples_add(&s->unnamed_samples, current);
	else
		add_to_profile(s, p, current);
}

/* Adds the sample to the profile if it has all names or no more are expected. */
static bool retry(struct unnamed_sample *w, void *ctx)
{
	struct samples *s = ctx;
	struct process *p = samples_process(s, &w->head);
	bool may_come = may_wait(s, p, w->head.time_ns, &w->unnamed);

	if (is_early(s, p, &w->head))
		return false;
	/* While the attach runs there is nothing new to ask. */
	if (may_come && agents_state(s->agents, p->jvm) == AGENT_PENDING &&
	    !lacks(&w->unnamed, NAME_IN_FILE))
		return false;
	if (symbolize_again(s->symbolizer, p, w->head.time_ns, &w->frames, &w->unnamed) && may_come)
		return false;
	add_to_profile(s, p, w);
	return true;
}

static bool give_up(struct unnamed_sample *w, void *ctx)
{
	struct samples *s = ctx;

	add_to_profile(s, samples_process(s, &w->head), w);
	return true;
}

void samples_retry(struct samples *s)
{
	unnamed_samples_retry(&s->unnamed_samples, retry, s);
}

static bool report_live(pid_t pid, u32 tid, u64 sample_ns, void *held)
{
	return live_allocs_lives(held, pid, tid, sample_ns);
}

/*
 * Marks the samples of live memory. False if the kernel's map cannot be read; no sample may be
 * judged then.
 */
static bool ask_what_lives(struct samples *s)
{
	if (!s->live_allocs.samples.nr)
		return true;
	int err = programs_each_live(sources_bpf(s->sources), report_live, &s->live_allocs);
	if (err)
		log_warn("live memory cannot be read from the kernel: %s; it is left out",
			 strerror(-err));
	return !err;
}

void samples_judge_ended(struct samples *s)
{
	if (live_allocs_is_due(&s->live_allocs) && ask_what_lives(s))
		live_allocs_judge(&s->live_allocs, s->profile);
}

void samples_finish(struct samples *s, u64 ended_ns)
{
	for (u64 end = time_mono_ns() + AGENT_LATE_NS;
	     s->unnamed_samples.samples.nr && time_mono_ns() < end;) {
		usleep(20 * 1000);
		agents_poll(s->agents);
		samples_retry(s);
	}
	unnamed_samples_retry(&s->unnamed_samples, give_up, s);
	if (ask_what_lives(s))
		live_allocs_release(&s->live_allocs, ended_ns, s->profile);
}
