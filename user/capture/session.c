/* SPDX-License-Identifier: Apache-2.0 */
/* A recording. */
#include "capture/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "capture/held.h"
#include "capture/inbox.h"
#include "capture/levels.h"
#include "capture/lockstack.h"
#include "capture/notes.h"
#include "capture/pending.h"
#include "capture/privilege.h"
#include "capture/raw.h"
#include "capture/remote.h"
#include "capture/sideband.h"
#include "capture/sources.h"
#include "capture/unwinding.h"
#include "capture/waiting.h"
#include "proc/status.h"
#include "sym/symbolize.h"

#define FOLLOW_CPUS_NS NS_PER_SEC
#define KEEP_EXITED_NS (5 * NS_PER_SEC)
#define AGENT_LAG_NS   (500 * NS_PER_MS) /* live events come up to 45 ms late (JV15) */
#define AGENT_PENDING_NS                                                        \
	(3 * NS_PER_SEC) /* an attach with its replay; less than KEEP_EXITED_NS \
			  */
#define WAITING_BYTES_MAX (64u << 20)

struct session {
	struct session_options options;
	struct bpf *bpf;
	struct remote *remote; /* NULL: not needed */
	struct sources *sources;
	struct sideband *sideband;
	struct processes *processes;
	struct containers *containers;
	struct jvms *jvms;
	struct agents *agents;
	struct unwinding *unwinding;
	struct symbolizer *symbolizer;
	struct profile *profile;
	struct levels levels;
	u32 types[ABI_EVENTS]; /* the profile's type of an event; its count is the next one */
	bool has_hooks;        /* events that agents tell of */
	struct inbox inbox;    /* of this tick */
	struct waiting waiting;
	struct held held;
	unnamed_list unnamed;
	frame_list frames; /* of the sample in hand */
	raw_frames user;   /* of the sample in hand */
	u64 started_ns, first_sample_ns, followed_ns;
	u64 nr_frames, nr_named;
	u64 nr_other_threads;           /* samples that options.thread leaves out */
	u64 nr_pending, nr_pending_cut; /* samples of threads that waited at the end */
	struct dict jvms_seen;          /* of what was to be sampled */
};

static void add_to_profile(struct session *s, struct process *p, const struct sample *sample,
			   u64 count, frame_list *frames)
{
	if (!lockstack_name(s->symbolizer, s->profile->frames, frames) ||
	    !sources_keep(s->sources, sample->event, s->profile->frames, frames))
		return;
	bool by_state = sources_by_state(s->sources, sample->event);
	struct place place;

	if (!levels_place(&s->levels, p, sample, by_state, &place)) {
		s->nr_other_threads++;
		return;
	}
	node_id node = place.node;
	for (size_t i = frames->nr; i-- > 0;) {
		s->nr_frames++;
		s->nr_named += symbolizer_is_named(s->symbolizer, frames->at[i]);
		node = profile_child(s->profile, node, frames->at[i]);
	}
	struct held_weight weight = {
		.node = node,
		.labels = place.labels,
		.type = s->types[sample->event],
		.value = sample->weight,
	};
	if (event_count_unit(&s->options.events->list.at[sample->event]))
		weight.count = count;
	if (sources_is_held(s->sources, sample->event, &weight.age_ns))
		held_name(&s->held, sample->task.tid, sample->time_ns, &weight);
	else
		held_weigh(&weight, s->profile);
}

/* Whether an agent may still tell names that a sample of that time lacks. */
static bool may_wait(const struct session *s, const struct process *p, u64 time_ns)
{
	u64 now = time_mono_ns(), age = now > time_ns ? now - time_ns : 0;

	switch (agents_state(s->agents, p->pid, p->start_ns)) {
	case AGENT_PENDING:
		return age < AGENT_PENDING_NS;
	case AGENT_ATTACHED:
		return age < AGENT_LAG_NS;
	default:
		return false;
	}
}

static void meet_jvm(struct session *s, const struct process *p, bool wants_agent)
{
	dict_add(&s->jvms_seen, hash_u64((u64)p->pid) ^ p->start_ns / PROC_TICK_NS);
	if (wants_agent)
		agents_request(s->agents, p->pid, p->start_ns);
}

static struct process *process_of(struct session *s, const struct sample *sample)
{
	return processes_get(s->processes, (pid_t)sample->task.pid, sample->task.start_ns,
			     sample->comm);
}

/* Names a sample; what lacks a name that the agent may tell waits for it. */
static void take_sample(struct session *s, const struct sample *sample)
{
	struct process *p = process_of(s, sample);
	auto_free struct sample *walked = unwinding_walk(s->unwinding, p, sample);
	u64 count, age_ns;

	if (walked)
		sample = walked;
	struct sample head = *sample;
	if (sources_is_double(s->sources, sample, p))
		return;
	head.weight = sources_weigh(s->sources, sample, &count);
	s->frames.nr = s->unnamed.nr = 0;
	struct raw_stack stack =
		raw_stack_of(sample, sources_frames_to_skip(s->sources, sample), &s->user);
	if (p->is_jvm)
		meet_jvm(s, p, s->options.agent != AGENT_NEVER);
	if (sources_is_held(s->sources, sample->event, &age_ns))
		held_begin(&s->held, sample->task.tid, sample->time_ns);
	symbolize(s->symbolizer, p, &stack, &s->frames, &s->unnamed);
	if (s->unnamed.nr && s->waiting.bytes < WAITING_BYTES_MAX &&
	    may_wait(s, p, sample->time_ns))
		waiting_add(&s->waiting, &head, count, &s->frames, &s->unnamed);
	else
		add_to_profile(s, p, &head, count, &s->frames);
}

static bool is_target(const struct session *s, const struct process *p)
{
	return p->is_target || !targets_select(s->options.targets);
}

/* For samples of a process that is recorded: it is new, or maps more. */
static void prepare(struct session *s, struct process *p)
{
	unwinding_want(s->unwinding, p);
	sources_meet(s->sources, p);
	if (p->is_jvm && s->has_hooks)
		meet_jvm(s, p, true);
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
		if (p->is_jvm)
			targets_set_jvm(s->options.targets, p->pid, true);
		if (is_target(s, p))
			prepare(s, p);
	} else if (e->kind == SIDE_EXEC) {
		process_exec(p);
		unwinding_forget(s->unwinding, p);
	}
}

static void apply_exit(struct session *s, const struct process_record *r)
{
	struct process *p = processes_find(s->processes, (pid_t)r->task.pid, r->task.start_ns);

	if (p) {
		p->exit_ns = r->time_ns;
		sources_leave(s->sources, p);
		unwinding_forget(s->unwinding, p);
	}
}

/* The program in the kernel has dropped the tables, maybe after we had made new ones. */
static void apply_exec(struct session *s, struct process *p, const struct process_record *r)
{
	copy_text(p->comm, sizeof(p->comm), r->comm);
	p->is_target = r->is_wanted;
	if (p->is_target && targets_begin(s->options.targets, p->pid))
		s->started_ns = r->time_ns;
	targets_set_jvm(s->options.targets, p->pid, p->is_jvm);
	unwinding_forget(s->unwinding, p);
	if (is_target(s, p))
		unwinding_want(s->unwinding, p);
}

static void apply_process(struct session *s, const struct process_record *r)
{
	pid_t pid = (pid_t)r->task.pid;
	struct process *p;

	switch (r->kind) {
	case RECORD_FORK:
		p = processes_fork(s->processes, (pid_t)r->parent_pid, pid, r->task.start_ns,
				   r->comm);
		p->is_target = r->is_wanted;
		if (is_target(s, p))
			unwinding_want(s->unwinding, p);
		break;
	case RECORD_EXEC:
		p = processes_newest(s->processes, pid);
		if (p)
			apply_exec(s, p, r);
		break;
	case RECORD_EXIT:
		apply_exit(s, r);
		break;
	}
}

static void apply(struct session *s, struct item *item)
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
		if (!s->first_sample_ns)
			s->first_sample_ns = item->time_ns;
		take_sample(s, item->record);
		break;
	case ITEM_FREED:
		freed = item->record;
		held_free(&s->held, freed->tid, freed->sample_ns);
		break;
	}
}

/* Tries again; the sample goes into the profile if it has its names or nothing more will come. */
static bool retry_sample(struct waiting_sample *w, void *ctx)
{
	struct session *s = ctx;
	struct process *p = process_of(s, &w->head);
	bool may_come = may_wait(s, p, w->head.time_ns);

	/* While the attach is under way there is nothing new to ask. */
	if (may_come && agents_state(s->agents, p->pid, p->start_ns) == AGENT_PENDING)
		return false;
	if (symbolize_again(s->symbolizer, p, w->head.time_ns, &w->frames, &w->unnamed) && may_come)
		return false;
	add_to_profile(s, p, &w->head, w->count, &w->frames);
	return true;
}

static bool give_up_sample(struct waiting_sample *w, void *ctx)
{
	struct session *s = ctx;

	add_to_profile(s, process_of(s, &w->head), &w->head, w->count, &w->frames);
	return true;
}

static void take_in(struct session *s)
{
	/* The side band second: it then covers at least the time of the samples. */
	bpf_drain(s->bpf, inbox_add_record, &s->inbox);
	sideband_drain(s->sideband, inbox_add_side, &s->inbox);
	agents_poll(s->agents);
	waiting_retry(&s->waiting, retry_sample, s);
	inbox_sort(&s->inbox);
	for (size_t i = 0; i < s->inbox.items.nr; i++)
		apply(s, &s->inbox.items.at[i]);
	inbox_clear(&s->inbox);
	unwinding_update(s->unwinding, s->processes);
}

static void forget_jvm(struct process *p, void *ctx)
{
	struct session *s = ctx;

	if (p->is_jvm)
		jvms_remove(s->jvms, p->pid, p->start_ns);
}

void session_tick(struct session *s)
{
	u64 now = time_mono_ns();

	take_in(s);
	processes_reap(s->processes, now - KEEP_EXITED_NS, forget_jvm, s);
	if (now - s->followed_ns > FOLLOW_CPUS_NS) {
		s->followed_ns = now;
		sources_follow(s->sources);
		targets_follow(s->options.targets);
		sideband_follow(s->sideband);
	}
}

/* JVMs, and what was asked for, are made ready before the first sample is taken. */
static void make_ready(struct process *p, void *ctx)
{
	struct session *s = ctx;

	if (!p->is_target && (targets_select(s->options.targets) || !p->is_jvm))
		return;
	unwinding_want(s->unwinding, p);
	if (p->is_jvm)
		meet_jvm(s, p, s->has_hooks || s->options.agent == AGENT_ALWAYS);
}

static void meet_process(struct process *p, void *ctx)
{
	struct session *s = ctx;

	if (is_target(s, p))
		sources_meet(s->sources, p);
}

static int open_sources(struct session *s)
{
	const struct session_options *o = &s->options;
	struct bpf_options bpf = { .ring_bytes = o->ring_bytes,
				   .remote_reads = remote_is_wanted(),
				   .knobs.measure = o->measure };

	targets_configure(o->targets, s->containers, &bpf);
	sources_configure(o->events, &s->options.sampling, &bpf);
	int err = bpf_load(&bpf, &s->bpf) ?: targets_open(o->targets, s->bpf);
	if (err)
		return err;
	if (bpf.remote_reads && remote_open(s->bpf, &s->remote))
		log_warn("memory of others cannot be read: their Java code has no names");
	struct tables_sizes sizes = TABLES_SIZES_DEFAULT;
	struct tables_fds fds = bpf_tables(s->bpf);
	err = unwinding_new(&sizes, &fds, s->jvms, &s->unwinding);
	if (err) {
		log_error("the unwinder's tables cannot be mapped: %s", strerror(-err));
		return err;
	}
	err = sideband_open(&s->sideband);
	if (err) {
		privilege_explain("following what processes map", err);
		return err;
	}
	err = bpf_attach_processes(s->bpf);
	if (err)
		return err;
	if (o->measure && bpf_measure(s->bpf))
		log_warn("the kernel keeps no run times of BPF programs");
	return sources_open(s->bpf, o->events, &s->options.sampling, &s->sources);
}

static int start(struct session *s)
{
	int err = open_sources(s);
	if (err)
		return err;

	/* Processes that begin while /proc is read are reported by the sources opened above. */
	err = processes_scan(s->processes);
	if (err < 0) {
		log_error("/proc cannot be read: %s; mount it", strerror(-err));
		return err;
	}
	err = targets_mark(s->options.targets, s->processes);
	if (err)
		return err;
	processes_each(s->processes, make_ready, s);
	unwinding_update(s->unwinding, s->processes);
	processes_each(s->processes, meet_process, s);
	if (s->has_hooks)
		agents_await(s->agents, AGENT_PENDING_NS);
	take_in(s); /* agents are mapped now: probes are placed there */
	return sources_start(s->sources);
}

int session_start(const struct session_options *options, struct session **out)
{
	struct session *s = xcalloc(1, sizeof(*s));
	char host[256] = "";

	s->options = *options;
	s->options.sampling.without_agent = options->agent == AGENT_NEVER;
	s->options.sampling.only_targets = targets_select(options->targets);
	s->started_ns = s->followed_ns = time_mono_ns();
	s->profile = profile_new();
	if (options->lines)
		frames_keep_lines(s->profile->frames);
	s->profile->slot_ns = options->slot_ns;
	gethostname(host, sizeof(host) - 1);
	free(s->profile->host);
	s->profile->host = xstrdup(host);
	s->profile->start_wall_ns = time_wall_ns();
	free(s->profile->target);
	s->profile->target = xstrdup(targets_text(options->targets));
	s->profile->rate_hz = options->sampling.freq_hz;
	events_add_types(options->events, s->profile, s->types);
	s->processes = processes_new();
	s->containers = containers_new("");
	s->agents = agents_new(options->agent_path, options->agent);
	struct agent_hooks hooks;
	s->has_hooks = sources_hooks(options->events, &options->sampling, &hooks) &&
		       options->agent != AGENT_NEVER;
	agents_want(s->agents, &hooks);
	s->jvms = jvms_new();
	agents_use_jvms(s->agents, s->jvms);
	s->symbolizer = symbolizer_new(s->profile->frames, s->jvms, s->agents);
	s->levels = (struct levels){
		.list = options->levels,
		.profile = s->profile,
		.symbolizer = s->symbolizer,
		.containers = s->containers,
		.jvms = s->jvms,
		.agents = s->agents,
		.thread = options->thread,
		.started_ns = s->started_ns,
	};

	int err = start(s);
	if (err) {
		session_free(s);
		return err;
	}
	*out = s;
	return 0;
}

/* Lets attaches that are under way finish, so that what was sampled meanwhile gets its names. */
static void wait_for_agents(struct session *s)
{
	for (u64 end = time_mono_ns() + AGENT_PENDING_NS;
	     s->waiting.samples.nr && time_mono_ns() < end;) {
		usleep(20 * 1000);
		agents_poll(s->agents);
		waiting_retry(&s->waiting, retry_sample, s);
	}
}

/* The first pass over the waiting threads: whose stacks will be walked. */
static void want_tables(const struct pending *p, u32 number, u64 weight, bool is_idle, void *ctx)
{
	struct session *s = ctx;

	unwinding_want(s->unwinding, processes_get(s->processes, (pid_t)p->sample.task.pid,
						   p->sample.task.start_ns, p->sample.comm));
}

static void add_pending(const struct pending *p, u32 number, u64 weight, bool is_idle, void *ctx)
{
	struct session *s = ctx;
	auto_free struct sample *sample =
		pending_sample(p, number, weight, unwinding_tables(s->unwinding));

	if (is_idle)
		sample->state = STATE_IDLE;
	s->nr_pending++;
	s->nr_pending_cut += sample->stop != STAT_ROOT;
	take_sample(s, sample);
}

/* Threads that still wait have sent nothing yet. */
static void take_in_pending(struct session *s)
{
	sources_pending(s->sources, want_tables, s);
	unwinding_update(s->unwinding, s->processes);
	sources_pending(s->sources, add_pending, s);
}

static void await_agents(struct session *s)
{
	while (agents_are_busy(s->agents)) {
		usleep(5000);
		take_in(s);
	}
}

/* Which of the sampled objects are gone is asked while the answer is still taken in. */
static void settle_refs(struct session *s)
{
	await_agents(s);
	agents_tell_refs(s->agents);
	await_agents(s);
}

void session_stop(struct session *s)
{
	u64 ended_ns = time_mono_ns();

	s->profile->duration_ns = ended_ns - s->started_ns;
	if (s->options.sampling.live)
		settle_refs(s);
	sources_stop(s->sources);
	take_in(s);
	take_in_pending(s);
	wait_for_agents(s);
	waiting_retry(&s->waiting, give_up_sample, s);
	held_release(&s->held, ended_ns, s->profile);
	notes_add(s);
}

void session_free(struct session *s)
{
	if (!s)
		return;
	sources_close(s->sources);
	sideband_close(s->sideband);
	unwinding_free(s->unwinding);
	remote_close(s->remote);
	bpf_free(s->bpf);
	waiting_fini(&s->waiting);
	inbox_fini(&s->inbox);
	held_fini(&s->held);
	vec_fini(&s->frames);
	vec_fini(&s->unnamed);
	vec_fini(&s->user);
	dict_fini(&s->jvms_seen);
	symbolizer_free(s->symbolizer);
	agents_free(s->agents);
	jvms_free(s->jvms);
	processes_free(s->processes);
	containers_free(s->containers);
	profile_free(s->profile);
	free(s);
}

void session_progress(const struct session *s, struct session_progress *out)
{
	u64 stats[NR_STATS];

	bpf_stats(s->bpf, stats);
	unwinding_stats(s->unwinding, stats);
	*out = (struct session_progress){
		.samples = stats[STAT_SAMPLES] + s->nr_pending,
		.lost = stats[STAT_RING_FULL] + stats[STAT_NO_SCRATCH] + stats[STAT_BUSY] +
			stats[STAT_WAIT_LOST],
		.truncated = stats[STAT_SAMPLES] - stats[STAT_ROOT] - stats[STAT_NO_USER] +
			     s->nr_pending_cut,
		.frames = s->nr_frames,
		.frames_named = s->nr_named,
		.nr_cpus = sources_nr_cpus(s->sources),
		.event = sources_text(s->sources),
		.other_threads = s->nr_other_threads,
		.name_conflicts = symbolizer_nr_conflicts(s->symbolizer),
		.untracked = stats[STAT_LEAK_UNTRACKED],
		.frozen = stats[STAT_FROZEN],
		.without_line = symbolizer_nr_without_line(s->symbolizer),
		.kernel_error = symbolizer_kernel_error(s->symbolizer),
	};
	if (s->first_sample_ns > s->started_ns)
		out->start_to_first_sample_ns = s->first_sample_ns - s->started_ns;
	if (s->options.measure)
		bpf_measured(s->bpf, &out->cost);
	u32 asked;
	agents_count(s->agents, &asked, &out->jvms_attached, &out->jvms_refused);
	out->jvms = (u32)s->jvms_seen.nr;
	out->jvms_asked = asked;
}

void session_each_reason(const struct session *s, session_reason_fn visit, void *ctx)
{
	u64 stats[NR_STATS];

	bpf_stats(s->bpf, stats);
	unwinding_stats(s->unwinding, stats);
	for (u32 stat = STAT_FIRST_CUT; stat <= STAT_LAST_CUT; stat++)
		if (stats[stat])
			visit(stat_text[stat], stats[stat], ctx);
}

int session_fd(const struct session *s)
{
	return sideband_fd(s->sideband);
}

struct agents *session_agents(struct session *s)
{
	return s->agents;
}

struct profile *session_profile(struct session *s)
{
	return s->profile;
}
