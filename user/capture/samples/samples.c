/* SPDX-License-Identifier: Apache-2.0 */
/* Samples on their way into the profile. */
#include "capture/samples/samples.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "capture/kernel/task.h"
#include "jvm/hotspot/regions.h"
#include "profile/frames/method.h"
#include "sym/stripped.h"

#define AGENT_LAG_NS  (500 * NS_PER_MS) /* events arrive up to 45 ms late */
#define AGENT_LATE_NS (20 * NS_PER_SEC) /* an attach is given up before this time has passed */
/* after this time a frame stays without the name from a file */
#define FILE_LATE_NS      (5 * NS_PER_SEC)
#define UNNAMED_BYTES_MAX (64u << 20)
#define USER_SPACE        "[user space]"
#define ATTACH_THREAD     "Attach Listener"
#define ATTACH_GROUP      "[sysflame attach]"
/* prime of FNV-1a; a stack found by its hash is compared */
#define STACK_PRIME 0x100000001b3ull

static void forget(struct unnamed_sample *u)
{
	vec_fini(&u->frames);
	vec_fini(&u->unnamed);
	for (size_t i = 0; i < ARRAY_SIZE(u->tags); i++)
		free(u->tags[i]);
}

void samples_fini(struct samples *s)
{
	vec_each(u, &s->waiting.list)
		forget(u);
	vec_fini(&s->waiting.list);
	s->waiting.bytes = 0;
	live_allocs_fini(&s->live_allocs);
	monitorwaits_fini(&s->monitorwaits);
	forget(&s->current);
	vec_fini(&s->user);
	vec_each(k, &s->sinks)
		sink_free(*k);
	vec_fini(&s->sinks);
}

static void mark_cut(struct cut *c, void *is_used)
{
	const struct profile *p = c->profile;

	for (size_t i = 1; p->shares_frames && i < p->nodes.nr; i++)
		((bool *)is_used)[p->nodes.at[i].frame] = true;
}

void samples_mark_frames(const struct samples *s, bool *is_used)
{
	vec_each(k, &s->sinks)
		sink_each(*k, mark_cut, is_used);
	vec_each(u, &s->waiting.list) {
		is_used[u->wait.thread] = is_used[u->wait.lock] = is_used[u->wait.owner] = true;
		is_used[u->wait.executor] = true;
		vec_each(frame, &u->frames)
			is_used[*frame] = true;
	}
}

static void own_frames(struct cut *c, void *ctx)
{
	(void)ctx;
	profile_own_frames(c->profile);
}

void samples_own_frames(struct samples *s)
{
	vec_each(k, &s->sinks)
		sink_each(*k, own_frames, NULL);
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

/*
 * For a wait that began before the window only the window's begin is known. It may have begun
 * before the agent reported, so the agent's report starts 1 ns later.
 */
static u64 lock_hook_since(const struct samples *s, const struct process *p)
{
	u64 hook_ns = agents_report_since(s->agents, p->jvm, AGENT_HOOK_LOCK);
	u64 begin_ns = s->begin_ns;

	return hook_ns && hook_ns <= begin_ns ? begin_ns + 1 : hook_ns;
}

/* The part of a place that gets the number of samples, which is not divided: the largest. */
static size_t largest_part(const struct place *place)
{
	size_t largest = 0;

	for (size_t i = 1; i < place->nr_parts; i++)
		if (place->parts[i].value > place->parts[largest].value)
			largest = i;
	return largest;
}

/* Where a sample goes. */
struct destination {
	struct sink *sink;
	struct cut *cut;
	struct place place;
	node_id node; /* of its leaf */
};

static void add_weight(struct samples *s, const struct unnamed_sample *named,
		       const struct destination *to)
{
	const struct event *event = named->event;
	const struct sample *sample = &named->head;
	size_t largest = largest_part(&to->place);

	for (size_t i = 0; i < to->place.nr_parts; i++) {
		const struct place_part *part = &to->place.parts[i];
		if (!part->value && i != largest)
			continue;
		struct live_alloc_weight weighed = {
			.node = to->node,
			.labels = part->labels,
			.type = sink_type(to->sink, sample->event),
			.value = part->value,
			.has_samples = event->is_weighed && i == largest,
			.event = sample->event,
			.stop = named->stop,
			.is_counted = i == largest,
		};
		if (event_count_unit(event) && i == largest)
			weighed.count = named->weight.count;
		bool is_held = sources_is_live_only(s->sources, event, &weighed.age_ns);
		if (!is_held && named->request.has_trace && sink_keeps_traces(to->sink))
			weighed.request = &named->request;
		if (is_held)
			live_allocs_name(&s->live_allocs, sample->task.tid, sample->time_ns,
					 &weighed, to->cut);
		else
			live_allocs_weigh(&weighed, to->cut);
	}
}

/* NULL if the process is not a JVM, or not yet known as one. */
static struct hotspot *hotspot_of(const struct samples *s, const struct process *p)
{
	return jvm_registry_find(s->jvms, p->jvm);
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

/* Counts a sample that is left out of all profiles. */
static void leave_out(struct samples *s, const struct sample *sample)
{
	live_allocs_forget(&s->live_allocs, sample->task.tid, sample->time_ns);
}

/*
 * Whether the stack is of sysflame's own work in a JVM: the agent's outermost frame decides. If the
 * stack is cut below that frame, or it has no name, the thread that executes commands decides.
 */
static bool is_attach(const struct samples *s, const struct process *p,
		      const struct unnamed_sample *named)
{
	for (size_t i = p->is_jvm ? named->frames.nr : 0; i-- > 0;) {
		enum agent_part part = symbolizer_agent_part(s->symbolizer, named->frames.at[i]);
		if (part == AGENT_PART_CALLED)
			return !strncmp(named->head.comm, ATTACH_THREAD, sizeof(named->head.comm));
		if (part != AGENT_PART_NONE)
			return part == AGENT_PART_WORK;
	}
	return false;
}

/*
 * Classes that run for virtual threads only: a mounted one and its carrier have frames of the first
 * two, and threads that wait for sockets on their behalf have frames of the third.
 */
static const char *const virtual_classes[] = {
	"java.lang.VirtualThread.",
	"jdk.internal.vm.Continuation.",
	"sun.nio.ch.Poller.",
};

/* The JDK's thread that wakes virtual threads has no such frame; its name has 15 bytes here. */
#define UNPARKER "VirtualThread-u"

static bool is_of_virtual_threads(const struct frames *all, const frame_list *frames)
{
	vec_each(id, frames) {
		const struct frame *f = frames_get(all, *id);
		if (!frame_kind_is_java(f->kind))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(virtual_classes); i++)
			if (!strncmp(f->name, virtual_classes[i], strlen(virtual_classes[i])))
				return true;
	}
	return false;
}

/*
 * Whether the frame repeats the previous one: functions of one group that call each other become
 * one frame.
 */
static bool is_repeated(const struct samples *s, const frame_list *frames, size_t i)
{
	return i + 1 < frames->nr && frames->at[i] == frames->at[i + 1] &&
	       symbolizer_is_stripped(s->symbolizer, frames->at[i]);
}

static void count_frame(const struct samples *s, const struct process *p, frame_id id,
			struct placed_stack *counts)
{
	enum frame_kind kind = frames_get(s->frames, id)->kind;
	bool is_named = symbolizer_is_named(s->symbolizer, id);
	bool may_be_java = frame_kind_is_java(kind) || (p->is_jvm && kind == FRAME_UNKNOWN);

	counts->nr_frames++;
	counts->nr_named += is_named;
	counts->nr_inferred += symbolizer_is_inferred(s->symbolizer, id);
	counts->nr_stripped += symbolizer_is_stripped(s->symbolizer, id);
	counts->nr_java += may_be_java;
	counts->nr_java_named += may_be_java && is_named;
}

static struct placed_stack place_stack(const struct samples *s, const struct process *p,
				       struct profile *profile, node_id below,
				       const frame_list *frames)
{
	struct placed_stack placed = {
		.node = below,
		.is_of_virtual_threads = p->is_jvm && is_of_virtual_threads(s->frames, frames)
	};

	for (size_t i = frames->nr; i-- > 0;) {
		count_frame(s, p, frames->at[i], &placed);
		if (!is_repeated(s, frames, i))
			placed.node = profile_child(profile, placed.node, frames->at[i]);
	}
	return placed;
}

/* Whether the node's path to `below` consists of these frames. */
static bool is_path(const struct samples *s, const struct profile *profile, node_id node,
		    node_id below, const frame_list *frames)
{
	for (size_t i = 0; i < frames->nr; i++) {
		if (is_repeated(s, frames, i))
			continue;
		if (node == below || !node || profile->nodes.at[node].frame != frames->at[i])
			return false;
		node = profile->nodes.at[node].parent;
	}
	return node == below;
}

/* Finds a placed stack by all its frames. Its frames are counted only when it is placed first. */
static const struct placed_stack *find_stack(const struct samples *s, const struct process *p,
					     struct cut *c, node_id below, const frame_list *frames)
{
	u64 key = hash_u64((u64)below << 1 | p->is_jvm);

	for (size_t i = 0; i < frames->nr; i++)
		key = (key ^ frames->at[i]) * STACK_PRIME;
	u64 *index = dict_add(&c->stacks, key);
	if (*index && is_path(s, c->profile, c->placed.at[*index - 1].node, below, frames))
		return &c->placed.at[*index - 1];
	struct placed_stack placed = place_stack(s, p, c->profile, below, frames);
	if (*index) {
		c->placed.at[*index - 1] = placed;
	} else {
		vec_push(&c->placed, placed);
		*index = c->placed.nr;
	}
	return &c->placed.at[*index - 1];
}

static void add_stack(struct samples *s, const struct process *p, struct unnamed_sample *named,
		      struct destination *to)
{
	const struct placed_stack *stack = find_stack(s, p, to->cut, to->node, &named->frames);
	struct sample_counts *counts = &to->cut->counts;

	counts->nr_frames += stack->nr_frames;
	counts->nr_named += stack->nr_named;
	counts->nr_inferred += stack->nr_inferred;
	counts->nr_stripped += stack->nr_stripped;
	counts->nr_java += stack->nr_java;
	counts->nr_java_named += stack->nr_java_named;
	counts->nr_approximate += named->is_approximate;
	counts->nr_inexact += named->leaf_is_inexact;
	to->node = stack->node;
	if (p->is_jvm && (stack->is_of_virtual_threads || named->stop == STAT_FROZEN ||
			  !strncmp(named->head.comm, UNPARKER, sizeof(UNPARKER) - 1)))
		quality_mark_virtual(to->cut->quality, p);
	add_weight(s, named, to);
}

/* The keys of the notes that count this stack as one that lacks frames. */
static void add_stack_keys(const struct unnamed_sample *named, struct str *out)
{
	if (counter_is_cut(named->stop))
		str_add(out, counter_of(named->stop)->key);
	if (named->is_approximate)
		str_addf(out, "%sapproximate", out->len ? " " : "");
}

/* The name of frame `id`; NULL if `id` is 0, which stands for no frame. */
static const char *name_of(const struct samples *s, frame_id id)
{
	return id ? frames_get(s->frames, id)->name : NULL;
}

static void add_to_sink(struct samples *s, struct process *p, struct unnamed_sample *named,
			const struct named_stack *stack, struct sink *sink, bool is_attach)
{
	const struct sample *sample = &named->head;
	struct destination to = { .sink = sink, .cut = sink_at(sink, sample->time_ns) };
	auto_str struct str keys = { 0 };
	add_stack_keys(named, &keys);
	const struct place_traits traits = {
		.comm = named->comm,
		.program_ns = named->program_ns,
		.thread = name_of(s, named->wait.thread),
		.state = sources_state(stack),
		.leaf = named->leaf_is_inexact ? "inexact" : NULL,
		.owner = name_of(s, named->wait.owner),
		.executor = name_of(s, named->wait.executor),
		.stack = keys.at,
		.request = &named->request,
	};
	const char *group;
	bool is_left_out;

	if (!to.cut)
		return;
	enum placing placing = levels_place(sink_levels(sink, to.cut), p, sample, &named->weight,
					    traits, &to.place);
	to.cut->counts.nr_other_threads += placing == OTHER_THREAD;
	cut_count_request(to.cut, sample->task.pid, &named->request);
	if (placing != PLACED) {
		leave_out(s, sample);
		return;
	}
	if (is_attach) {
		group = ATTACH_GROUP;
		is_left_out = !sources_options(s->sources)->own;
		to.cut->counts.nr_attach += !is_left_out;
		to.cut->counts.nr_attach_left_out += is_left_out;
	} else {
		group = sources_group(s->sources, stack, &is_left_out);
		if (is_left_out)
			to.cut->counts.reserved_bytes += named->weight.value;
	}
	if (is_left_out) {
		leave_out(s, sample);
		return;
	}
	to.node = to.place.node;
	if (named->stop == STAT_KERNEL_ONLY)
		group = USER_SPACE;
	if (group)
		to.node = profile_child(to.cut->profile, to.node,
					symbolizer_group(s->symbolizer, group));
	add_stack(s, p, named, &to);
}

static void add_to_profiles(struct samples *s, struct process *p, struct unnamed_sample *named)
{
	const struct sample *sample = &named->head;
	const struct named_stack stack = {
		.event = named->event,
		.sample = sample,
		.weight = &named->weight,
		.lock_hook_since_ns = lock_hook_since(s, p),
		.monitorwaits = &s->monitorwaits,
		.lock = name_of(s, named->wait.lock),
		.hotspot = sample->mapped ? hotspot_of(s, p) : NULL,
		.symbolizer = s->symbolizer,
		.all = s->frames,
		.frames = &named->frames,
	};

	bool is_plain = symbolizer_is_plain(s->symbolizer, &named->frames);
	/* sources_keep may drop frames of the agent */
	bool is_own = !is_plain && is_attach(s, p, named);
	if (!sources_keep(&stack)) {
		leave_out(s, sample);
		return;
	}
	if (!is_plain) {
		const char *role =
			p->is_jvm ? stripped_role(s->frames, &named->frames, sample->comm) : NULL;
		stripped_group(s->symbolizer, s->frames, role, &named->frames);
	}
	vec_each(sink, &s->sinks)
		add_to_sink(s, p, named, &stack, *sink, is_own);
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

static size_t bytes_of(const struct unnamed_sample *u)
{
	return sizeof(*u) + u->frames.cap * sizeof(u->frames.at[0]) +
	       u->unnamed.cap * sizeof(u->unnamed.at[0]);
}

static void own_request(struct unnamed_sample *u)
{
	for (size_t i = 0; i < ARRAY_SIZE(u->tags); i++) {
		const char *text = u->request.tags[i];
		u->request.tags[i] = u->tags[i] = text ? xstrdup(text) : NULL;
	}
}

/* Takes over the lists of `sample` and leaves empty ones. */
static void put_aside(struct samples *s, struct unnamed_sample *sample)
{
	own_request(sample);
	vec_push(&s->waiting.list, *sample);
	s->waiting.bytes += bytes_of(sample);
	sample->frames = (frame_list){ 0 };
	sample->unnamed = (unnamed_list){ 0 };
	memset(sample->tags, 0, sizeof(sample->tags));
}

static void take_sample(struct samples *s, struct process *p, const struct event *event,
			const struct sample *sample, u32 stop, struct named_wait wait)
{
	struct unnamed_sample *current = &s->current;
	u64 age_ns;

	current->head = *sample;
	memcpy(current->comm, p->comm, sizeof(current->comm));
	current->program_ns = p->program_ns;
	current->stop = stop;
	current->event = event;
	current->wait = wait;
	current->weight = sources_weigh(s->sources, event, sample);
	current->frames.nr = current->unnamed.nr = 0;
	current->is_approximate = raw_stack_is_approximate(sample);
	requests_of(s->requests, p, sample, &current->request);
	struct raw_stack stack =
		raw_stack_of(sample, sources_frames_to_skip(s->sources, event, sample), &s->user);
	if (sources_is_live_only(s->sources, event, &age_ns))
		live_allocs_begin(&s->live_allocs, (pid_t)sample->task.pid, sample->task.tid,
				  sample->time_ns);
	symbolize(s->symbolizer, p, &stack, &current->frames, &current->unnamed);
	current->leaf_is_inexact = symbolizer_leaf_is_inexact(s->symbolizer);
	if (s->waiting.bytes < UNNAMED_BYTES_MAX &&
	    (is_early(s, p, sample) ||
	     (current->unnamed.nr && may_wait(s, p, sample->time_ns, &current->unnamed))))
		put_aside(s, current);
	else
		add_to_profiles(s, p, current);
}

void samples_take(struct samples *s, struct process *p, const struct event *event,
		  const struct sample *sample, u32 stop)
{
	take_sample(s, p, event, sample, stop, (struct named_wait){ 0 });
}

void samples_take_virtual(struct samples *s, struct process *p, const struct event *event,
			  const struct virtual_sample *virtual)
{
	struct named_wait wait = { .thread = symbolizer_group(s->symbolizer, virtual->thread) };

	if (virtual->executor)
		wait.executor = symbolizer_group(s->symbolizer, virtual->executor);
	if (virtual->lock && sources_is_of_locks(event))
		wait.lock = symbolizer_class(s->symbolizer, virtual->lock);
	if (virtual->owner && sources_is_of_locks(event))
		wait.owner = symbolizer_group(s->symbolizer, virtual->owner);
	take_sample(s, p, event, virtual->sample, virtual->sample->stop, wait);
}

/* Adds the sample to the profile if it has all names or no more are expected. */
static bool retry(struct samples *s, struct unnamed_sample *w)
{
	struct process *p = samples_process(s, &w->head);
	bool may_come = may_wait(s, p, w->head.time_ns, &w->unnamed);

	if (is_early(s, p, &w->head))
		return false;
	/* While the attach runs, the agent has no further names. */
	if (may_come && agents_state(s->agents, p->jvm) == AGENT_PENDING &&
	    !lacks(&w->unnamed, NAME_IN_FILE))
		return false;
	if (symbolize_again(s->symbolizer, p, w->head.time_ns, &w->frames, &w->unnamed) && may_come)
		return false;
	add_to_profiles(s, p, w);
	return true;
}

static bool give_up(struct samples *s, struct unnamed_sample *w)
{
	add_to_profiles(s, samples_process(s, &w->head), w);
	return true;
}

/* Calls is_done() for each waiting sample, in order of arrival; forgets those for which it is true.
 */
static void each_waiting(struct samples *s,
			 bool (*is_done)(struct samples *s, struct unnamed_sample *u))
{
	size_t kept = 0, bytes = 0;

	for (size_t i = 0; i < s->waiting.list.nr; i++) {
		struct unnamed_sample *u = &s->waiting.list.at[i];
		if (is_done(s, u)) {
			forget(u);
			continue;
		}
		bytes += bytes_of(u);
		s->waiting.list.at[kept++] = *u;
	}
	s->waiting.list.nr = kept;
	s->waiting.bytes = bytes;
}

void samples_retry(struct samples *s)
{
	each_waiting(s, retry);
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

bool samples_are_held(const struct samples *s)
{
	return s->are_held;
}

/* A recording that holds samples has one sink with one cut. */
static struct cut *held_cut(const struct samples *s)
{
	return s->sinks.nr ? sink_at(s->sinks.at[0], TIME_NEVER) : NULL;
}

void samples_judge_ended(struct samples *s)
{
	if (held_cut(s) && live_allocs_is_due(&s->live_allocs) && ask_what_lives(s))
		live_allocs_judge(&s->live_allocs, held_cut(s));
}

u64 samples_oldest_ns(const struct samples *s)
{
	u64 oldest_ns = TIME_NEVER;

	vec_each(u, &s->waiting.list)
		if (u->head.time_ns < oldest_ns)
			oldest_ns = u->head.time_ns;
	return oldest_ns;
}

void samples_finish(struct samples *s, u64 ended_ns)
{
	each_waiting(s, give_up);
	if (held_cut(s) && ask_what_lives(s))
		live_allocs_release(&s->live_allocs, ended_ns, held_cut(s));
}
