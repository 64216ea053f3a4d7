/* SPDX-License-Identifier: Apache-2.0 */
/* A recording. */
#include "capture/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "capture/notes.h"
#include "capture/origin.h"
#include "capture/pending.h"
#include "capture/privilege.h"
#include "capture/session_state.h"
#include "capture/untold.h"
#include "proc/status.h"

#define TICK_MS           50
#define TICK_UNLOADING_MS 10
#define HURRY             10 /* of niceness */
#define HURRY_NS          (5 * NS_PER_MS)
#define HURRY_BYTES       (64u << 20) /* in the inbox; beyond, the ring fills, and counts its losses */
#define FOLLOW_CPUS_NS    NS_PER_SEC
#define KEEP_EXITED_NS    (AGENT_PENDING_NS + 2 * NS_PER_SEC)

static void meet_jvm(struct session *s, const struct process *p, bool wants_agent)
{
	if (!process_is_whole_jvm(p))
		return;
	dict_add(&s->jvms_seen, hash_u64((u64)p->pid) ^ p->start_ns / PROC_TICK_NS);
	if (wants_agent)
		agents_request(s->agents, p->pid, p->start_ns, p->program_ns);
}

/* It executes another program, which may be a JVM as well. */
static void forget_program(struct session *s, const struct process *p)
{
	unwinding_forget(s->unwinding, p);
	jvms_remove(s->jvms, p->pid, p->start_ns);
	agents_forget(s->agents, p->pid, p->start_ns);
}

static bool is_target(const struct session *s, const struct process *p)
{
	return p->is_target || !targets_select(s->options.targets);
}

/* For samples of a process that is recorded: it is new, or maps more. */
static void prepare(struct process *p, void *ctx)
{
	struct session *s = ctx;

	unwinding_want(s->unwinding, p);
	sources_meet(s->sources, p);
	if (p->is_jvm && s->has_hooks)
		meet_jvm(s, p, true);
}

/* What user space has to walk itself is walked; what another event told already is left out. */
static void take_sample(struct session *s, const struct sample *sample)
{
	struct process *p = samples_process(&s->samples, sample);

	/* A program is executed, and targets are chosen, under the name before it is reported. */
	if (sample->task.tid == sample->task.pid)
		process_rename(p, sample->comm);
	p->has_samples = true;
	if (!is_target(s, p) && !p->exit_ns) {
		p->is_target = true;
		prepare(p, s);
	}
	auto_free struct sample *walked = unwinding_walk(s->unwinding, p, sample);

	if (walked)
		sample = walked;
	if (sources_is_double(s->sources, sample, p))
		return;
	if (p->is_jvm)
		meet_jvm(s, p, s->options.agent != AGENT_NEVER);
	samples_take(&s->samples, p, sample);
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
			s->has_new_targets |= targets_set_jvm(s->options.targets, p->pid, true);
		if (is_target(s, p))
			prepare(p, s);
	} else if (e->kind == SIDE_EXEC) {
		process_exec(p);
		process_rename(p, e->comm);
		forget_program(s, p);
	} else if (e->kind == SIDE_COMM) {
		process_rename(p, e->comm);
	}
}

static void apply_exit(struct session *s, const struct process_record *r)
{
	struct process *p = processes_find(s->processes, (pid_t)r->task.pid, r->task.start_ns);

	held_end(&s->samples.held, (pid_t)r->task.pid, r->time_ns);
	if (p && !p->exit_ns) {
		p->exit_ns = r->time_ns;
		sources_leave(s->sources, p);
		unwinding_forget(s->unwinding, p);
	}
}

/* The program in the kernel has dropped the tables, maybe after we had made new ones. */
static void apply_exec(struct session *s, struct process *p, const struct process_record *r)
{
	p->has_samples = false; /* under this name */
	process_rename(p, r->comm);
	p->is_target = r->is_wanted;
	if (p->is_target && targets_begin(s->options.targets, p->pid, p->start_ns))
		s->samples.levels.started_ns = s->started_ns = r->time_ns;
	targets_set_jvm(s->options.targets, p->pid, p->is_jvm);
	s->has_new_targets |= p->is_jvm; /* what it mapped since was told before */
	forget_program(s, p);
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
		if (is_target(s, p)) {
			unwinding_want(s->unwinding, p);
			sources_meet(s->sources, p); /* it may never map or execute more */
		}
		break;
	case RECORD_EXEC:
		p = processes_newest(s->processes, pid);
		held_end(&s->samples.held, pid, r->time_ns);
		if (p)
			apply_exec(s, p, r);
		break;
	case RECORD_EXIT:
		apply_exit(s, r);
		break;
	case RECORD_HEADLESS:
		sources_lose_probes(s->sources,
				    processes_find(s->processes, pid, r->task.start_ns));
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
		held_free(&s->samples.held, freed->tid, freed->sample_ns);
		break;
	}
}

/* Empties the ring; names what may be gone soon. */
static void receive(struct session *s)
{
	size_t known = s->inbox.items.nr;

	bpf_drain(s->bpf, inbox_add_record, &s->inbox);
	s->received_ns = time_mono_ns();
	for (size_t i = known; s->hurries && i < s->inbox.items.nr; i++)
		if (s->inbox.items.at[i].kind == ITEM_SAMPLE)
			samples_foresee(&s->samples, s->inbox.items.at[i].record);
}

/* Reading symbols of the kernel or of a large file takes longer than a class may live. */
static void apply_turn(struct session *s)
{
	for (size_t i = 0; i < s->turn.items.nr; i++) {
		apply(s, &s->turn.items.at[i]);
		if (s->hurries && s->inbox.bytes < HURRY_BYTES &&
		    time_mono_ns() - s->received_ns > HURRY_NS)
			receive(s);
	}
	inbox_clear(&s->turn);
}

/* Those that no fork or exec makes targets. */
static void find_new_targets(struct session *s)
{
	if (s->has_new_targets)
		targets_mark(s->options.targets, s->processes, prepare, s);
	s->has_new_targets = false;
}

static void take_in(struct session *s)
{
	struct inbox empty = s->turn;

	/* The side band second: it then covers at least the time of the samples. */
	receive(s);
	sideband_drain(s->sideband, inbox_add_side, &s->inbox);
	agents_poll(s->agents);
	untold_fall_back(s->agents, s->processes, s->sources);
	samples_retry(&s->samples);
	s->turn = s->inbox;
	s->inbox = empty;
	inbox_sort(&s->turn);
	apply_turn(s);
	find_new_targets(s);
	unwinding_update(s->unwinding, s->processes);
}

static void forget_process(struct process *p, void *ctx)
{
	struct session *s = ctx;

	jvms_remove(s->jvms, p->pid, p->start_ns);
}

/* Classes that go must have been named before. */
int session_tick_ms(const struct session *s)
{
	return jvms_unload_classes(s->jvms) ? TICK_UNLOADING_MS : TICK_MS;
}

/* Names of classes about to go are read first: on a crowded node 35 of 4,500 came too late, now 3.
 */
static void hurry(struct session *s)
{
	bool hurries = jvms_unload_classes(s->jvms);

	if (hurries != s->hurries)
		setpriority(PRIO_PROCESS, 0, s->niceness - (hurries ? HURRY : 0));
	s->hurries = hurries;
}

void session_tick(struct session *s)
{
	u64 now = time_mono_ns();

	hurry(s);
	take_in(s);
	processes_reap(s->processes, now - KEEP_EXITED_NS, forget_process, s);
	if (now - s->followed_ns > FOLLOW_CPUS_NS) {
		s->followed_ns = now;
		samples_judge_ended(&s->samples);
		sources_follow(s->sources);
		targets_follow(s->options.targets);
		s->has_new_targets =
			sources_are_placed(s->sources) && targets_may_change(s->options.targets);
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

static int mark_targets(struct session *s)
{
	struct targets *t = s->options.targets;

	if (!targets_select(t))
		return 0;
	int nr = targets_mark(t, s->processes, NULL, NULL);
	if (!nr)
		log_warn("no process is selected by %s; waiting for one", targets_text(t));
	return nr < 0 ? nr : 0;
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
	err = sources_open(s->bpf, o->events, &s->options.sampling, &s->sources);
	s->samples.sources = s->sources;
	return err;
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
	err = mark_targets(s);
	if (err)
		return err;
	processes_each(s->processes, make_ready, s);
	unwinding_update(s->unwinding, s->processes);
	processes_each(s->processes, meet_process, s);
	if (s->has_hooks)
		agents_await(s->agents, AGENT_PENDING_NS);
	take_in(s); /* agents are mapped now: probes are placed there */
	err = sources_start(s->sources);
	if (!err) /* the last of the sources may be probes */
		processes_each(s->processes, meet_process, s);
	return err;
}

static void set_up_samples(struct session *s)
{
	const struct session_options *o = &s->options;

	s->samples = (struct samples){
		.events = o->events,
		.agents = s->agents,
		.processes = s->processes,
		.symbolizer = s->symbolizer,
		.profile = s->profile,
		.levels = {
			.list = o->levels,
			.profile = s->profile,
			.symbolizer = s->symbolizer,
			.containers = s->containers,
			.jvms = s->jvms,
			.agents = s->agents,
			.thread = o->thread,
			.started_ns = s->started_ns,
		},
	};
	events_add_types(o->events, s->profile, s->samples.types);
}

int session_start(const struct session_options *options, struct session **out)
{
	struct session *s = xcalloc(1, sizeof(*s));

	s->options = *options;
	s->niceness = getpriority(PRIO_PROCESS, 0);
	s->options.sampling.without_agent = options->agent == AGENT_NEVER;
	s->options.sampling.only_targets = targets_select(options->targets);
	s->started_ns = s->followed_ns = time_mono_ns();
	s->profile = origin_profile(options);
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
	set_up_samples(s);

	int err = start(s);
	if (err) {
		session_free(s);
		return err;
	}
	*out = s;
	return 0;
}

/* The first pass over the waiting threads: whose stacks will be walked. */
static void want_tables(const struct pending *p, u32 number, u64 weight, bool is_idle, void *ctx)
{
	struct session *s = ctx;

	unwinding_want(s->unwinding, processes_get(s->processes, (pid_t)p->sample.task.pid,
						   p->sample.task.start_ns, p->sample.comm));
}

/* Threads that still wait have sent nothing yet. */
static void take_in_pending(struct session *s)
{
	pending_samples samples = { 0 };

	sources_pending(s->sources, want_tables, s);
	unwinding_update(s->unwinding, s->processes);
	pending_walk(s->sources, unwinding_tables(s->unwinding), &samples);
	take_in(s);
	vec_each(sample, &samples) {
		s->nr_pending++;
		s->nr_pending_cut += (*sample)->stop != STAT_ROOT;
		take_sample(s, *sample);
		free(*sample);
	}
	vec_fini(&samples);
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
	samples_finish(&s->samples, ended_ns);
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
	samples_fini(&s->samples);
	inbox_fini(&s->inbox);
	inbox_fini(&s->turn);
	dict_fini(&s->jvms_seen);
	symbolizer_free(s->symbolizer);
	agents_free(s->agents);
	jvms_free(s->jvms);
	processes_free(s->processes);
	containers_free(s->containers);
	profile_free(s->profile);
	free(s);
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
