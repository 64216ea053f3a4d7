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
#include "capture/events/blocked_threads.h"
#include "capture/events/function_window.h"
#include "capture/events/hook_fallback.h"
#include "capture/kernel/descriptors.h"
#include "capture/kernel/privilege.h"
#include "capture/kernel/task.h"
#include "capture/late.h"
#include "capture/notes.h"
#include "capture/origin.h"
#include "capture/rights.h"
#include "capture/session_apply.h"
#include "capture/session_state.h"
#include "capture/session_window.h"
#include "capture/unwind/row_build.h"
#include "proc/status.h"
#include "sym/parse_symbols.h"
#include "sym/perf_map.h"

#define TICK_MS           50
#define TICK_UNLOADING_MS 10
#define WOKEN_US          2000
#define AWAIT_US          5000
#define URGENT_NS         (5 * NS_PER_MS)
#define BEHIND_BYTES      (1u << 20) /* of records not yet taken in */
#define POLL_NS           (50 * NS_PER_MS)
#define FOLLOW_CPUS_NS    NS_PER_SEC
#define SET_UP_NS         NS_PER_SEC /* then recording begins, even if agents are still attaching */
#define WAIT_START_NS     (500 * NS_PER_MS) /* for workers, before sampling begins */
#define WAIT_TICK_NS      (20 * NS_PER_MS)  /* and in each tick */
#define WAIT_END_NS       NS_PER_SEC
#define KEEP_EXITED_NS    (AGENT_PENDING_NS + 2 * NS_PER_SEC)

/* Empties the ring. While classes are being unloaded, names are resolved at once. */
static void receive(struct session *s)
{
	size_t known = s->inbox.items.nr;
	struct parcel *parcels = receiver_take(s->receiver);

	parcels_each(parcels, inbox_add_record, &s->inbox);
	parcels_add(&s->inbox.parcels, parcels);
	s->received_ns = time_mono_ns();
	for (size_t i = known; s->is_urgent && i < s->inbox.items.nr; i++)
		if (s->inbox.items.at[i].kind == ITEM_SAMPLE)
			samples_foresee(&s->samples, s->inbox.items.at[i].record);
}

/*
 * Raises the priority while the recorder is behind or names classes that are about to be unloaded.
 */
static void set_priority(struct session *s)
{
	bool is_behind = s->receiver && receiver_backlog(s->receiver) > BEHIND_BYTES;

	priority_raise(&s->priority, s->is_urgent || is_behind);
}

/* Does what cannot wait: reads the rings of fixed size, and makes room before memory runs out. */
static void poll_rings(struct session *s)
{
	sideband_drain(s->sideband, inbox_add_side, &s->inbox);
	agents_poll(s->agents);
	memory_limit_check(&s->memory, s->symbolizer);
	s->polled_ns = time_mono_ns();
}

/*
 * Reading symbols of the kernel or of a large file takes longer than a class may live. Applying
 * many samples takes longer than the rings can wait. Both are therefore read between items.
 */
static void apply_turn(struct session *s)
{
	for (size_t i = 0; i < s->turn.items.nr; i++) {
		session_apply(s, &s->turn.items.at[i]);
		u64 now = time_mono_ns();
		if (s->is_urgent && now - s->received_ns > URGENT_NS)
			receive(s);
		if (now - s->polled_ns > POLL_NS) {
			set_priority(s);
			poll_rings(s);
		}
	}
	inbox_clear(&s->turn);
	receiver_return(s->receiver, take(s->turn.parcels));
}

/* Finds processes that became targets without a fork or exec. */
static void find_new_targets(struct session *s)
{
	if (s->has_new_targets)
		targets_find_new(s->options.targets, s->processes, session_admit, s);
	s->has_new_targets = false;
}

static void take_in(struct session *s)
{
	struct inbox empty = s->turn;

	/* The side band second: it then covers at least the time of the samples. */
	receive(s);
	poll_rings(s);
	set_priority(s);
	hook_fallback_update(s->agents, s->processes, s->sources);
	samples_retry(&s->samples);
	s->turn = s->inbox;
	s->inbox = empty;
	inbox_sort(&s->turn);
	apply_turn(s);
	find_new_targets(s);
	unwinding_update(s->unwinding, s->processes);
	session_take_unwalked(s, false);
}

static void forget_process(struct process *p, void *ctx)
{
	struct session *s = ctx;

	quality_judge(s->quality, p);
	jvm_registry_remove(s->jvms, p->id);
	symbolizer_forget(s->symbolizer, p->id);
	targets_drop(s->options.targets, p);
}

/* Classes must be named before they are unloaded. */
int session_tick_ms(const struct session *s)
{
	return jvm_registry_unload_classes(s->jvms) ? TICK_UNLOADING_MS : TICK_MS;
}

static void set_urgent(struct session *s, bool is_urgent)
{
	s->is_urgent = is_urgent;
	set_priority(s);
}

void session_tick(struct session *s)
{
	u64 now = time_mono_ns();

	/*
	 * Reads the names of classes before they are unloaded. On a crowded node this reduced the
	 * names lost from 35 of 4,500 to 3.
	 */
	set_urgent(s, jvm_registry_unload_classes(s->jvms));
	workers_set_patience(s->workers, WAIT_TICK_NS);
	workers_poll(s->workers);
	take_in(s);
	processes_reap(s->processes, now - KEEP_EXITED_NS, forget_process, s);
	if (now - s->followed_ns > FOLLOW_CPUS_NS) {
		s->followed_ns = now;
		rights_watch(s->rights);
		samples_judge_ended(&s->samples);
		sources_follow(s->sources);
		targets_follow(s->options.targets);
		s->has_new_targets =
			sources_are_placed(s->sources) && targets_may_change(s->options.targets);
		sideband_follow(s->sideband);
	}
}

/* Prepares JVMs and selected processes before the first sample. */
static void make_ready(struct process *p, void *ctx)
{
	struct session *s = ctx;
	const struct targets *t = s->options.targets;

	if (!targets_hold(t, p) || (!targets_select(t) && !p->is_jvm))
		return;
	unwinding_want(s->unwinding, p);
	if (p->is_jvm)
		session_admit_jvm(s, p, s->has_hooks || s->options.agent == AGENT_ALWAYS);
}

/* make_ready sets it up. */
static void admit_early(struct process *p, void *targets)
{
	targets_admit(targets, p);
}

static int admit_targets(struct session *s)
{
	struct targets *t = s->options.targets;

	if (!targets_select(t))
		return 0;
	int nr = targets_find_new(t, s->processes, admit_early, t);
	if (!nr)
		log_warn("no process is selected by %s; waiting for one", targets_text(t));
	return nr < 0 ? nr : 0;
}

static void add_process(struct process *p, void *ctx)
{
	struct session *s = ctx;

	if (targets_hold(s->options.targets, p))
		sources_add_process(s->sources, p);
}

static int open_sources(struct session *s)
{
	const struct session_options *o = &s->options;
	struct programs_options bpf = { .ring_bytes = o->ring_bytes,
					.remote_reads = remote_is_wanted(),
					.knobs.measure = o->measure,
					.ring_bytes_max = memory_limit_ring_bytes(&s->memory) };

	targets_configure(o->targets, s->containers, &bpf);
	sources_configure(o->events, &s->options.sampling, &bpf);
	function_window_configure(&s->options.sampling, &bpf.knobs);
	int err = programs_load(&bpf, &s->bpf) ?: targets_open(o->targets, s->bpf);
	if (err)
		return err;
	s->receiver = receiver_new(s->bpf);
	if (bpf.remote_reads && remote_open(s->bpf, &s->remote))
		log_warn("memory of other users' JVMs cannot be read, their Java code has no "
			 "names; run sysflame with CAP_SYS_PTRACE");
	struct tables_sizes sizes = TABLES_SIZES_DEFAULT;
	struct tables_fds fds = programs_tables(s->bpf);
	err = unwinding_new(&sizes, &fds, s->jvms, &s->unwinding);
	if (err) {
		log_error("the unwinder's tables cannot be mapped: %s", strerror(-err));
		return err;
	}
	unwinding_use_workers(s->unwinding, s->workers);
	err = sideband_open(&s->sideband);
	if (err) {
		privilege_explain("following the mappings of processes", err);
		return err;
	}
	err = programs_attach_processes(s->bpf);
	if (err)
		return err;
	if (o->measure && programs_measure(s->bpf))
		log_warn("the kernel does not measure the run time of BPF programs");
	err = sources_open(s->bpf, o->events, &s->options.sampling, &s->sources);
	if (err)
		return err;
	s->samples.sources = s->sources;
	function_window_open(s->sources);
	return 0;
}

/* Agents attach in processes of their own while the events are opened. */
static void request_agents(struct process *p, void *ctx)
{
	struct session *s = ctx;

	if (process_is_whole_jvm(p) && targets_surely_select_jvm(s->options.targets, p->id.pid))
		agents_request(s->agents, p->id, p->program_ns);
}

static void begin_attaches(struct session *s)
{
	struct processes *now = processes_new();

	if (processes_scan(now) >= 0)
		processes_each(now, request_agents, s);
	processes_free(now);
	agents_poll(s->agents);
}

/*
 * Takes in mappings while agents attach. The libraries of agents that report get their probes here.
 */
static void await_hooks(struct session *s)
{
	u64 end_ns = s->started_ns + SET_UP_NS;

	for (take_in(s); s->has_hooks && agents_are_attaching(s->agents) && time_mono_ns() < end_ns;
	     take_in(s))
		usleep(AWAIT_US);
}

static int start(struct session *s)
{
	if (s->has_hooks && !privilege_check())
		begin_attaches(s);
	int err = open_sources(s);
	if (err)
		return err;

	/* The sources opened above report processes that begin while /proc is read. */
	err = processes_scan(s->processes);
	if (err < 0) {
		log_error("/proc cannot be read: %s%s", descriptors_error_text(err),
			  err == -EMFILE ? "" : "; mount it");
		return err;
	}
	err = admit_targets(s);
	if (err)
		return err;
	processes_each(s->processes, make_ready, s);
	unwinding_update(s->unwinding, s->processes);
	processes_each(s->processes, add_process, s);
	await_hooks(s);
	err = sources_start(s->sources);
	if (err)
		return err;
	processes_each(s->processes, add_process, s); /* the last sources may be probes */
	session_open_window(s);
	return 0;
}

static void set_up_samples(struct session *s)
{
	const struct session_options *o = &s->options;

	s->samples = (struct samples){
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
		},
	};
	events_add_types(o->events, s->profile, s->samples.types);
}

static const worker_fn tasks[WORKER_TASKS] = {
	[WORKER_ROWS] = row_build_task,
	[WORKER_PERF_MAP] = perf_map_task,
	[WORKER_HEADERS] = parse_headers_task,
	[WORKER_SYMBOLS] = parse_symbols_task,
};

/* First of all: workers inherit what this process has by now. */
static void start_workers(struct session *s)
{
	int err = workers_new(tasks, &s->workers);

	if (err)
		log_warn("files of processes are read by the recorder itself, without a deadline: "
			 "no process for it can be started: %s",
			 strerror(-err));
	workers_set_patience(s->workers, WAIT_START_NS);
}

int session_start(const struct session_options *options, struct session **out)
{
	struct session *s = xcalloc(1, sizeof(*s));

	s->options = *options;
	start_workers(s);
	s->rights = rights_limit(options);
	priority_init(&s->priority);
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
	s->jvms = jvm_registry_new();
	agents_use_jvms(s->agents, s->jvms);
	s->quality = quality_new(s->jvms);
	s->symbolizer = symbolizer_new(s->profile->frames, s->jvms, s->agents);
	symbolizer_use_workers(s->symbolizer, s->workers);
	set_up_samples(s);
	memory_limit_begin(&s->memory, s->symbolizer);

	u64 worked_ns = time_worked_ns();
	set_urgent(s, true);
	agents_set_urgent(s->agents, true);
	int err = start(s);
	agents_set_urgent(s->agents, false);
	set_urgent(s, false);
	s->set_up_ns = time_mono_ns() - s->started_ns;
	s->set_up_worked_ns = time_worked_ns() - worked_ns;
	if (err) {
		session_free(s);
		return err;
	}
	*out = s;
	return 0;
}

/*
 * First pass over the waiting threads: requests tables for their processes, whose stacks will be
 * walked.
 */
static void want_tables(const struct blocked_thread *p, const struct sources_wait *wait, void *ctx)
{
	struct session *s = ctx;

	unwinding_want(s->unwinding,
		       processes_get(s->processes, task_process(&p->sample.task), p->sample.comm));
}

/* Samples of threads that still wait; the kernel has sent none for them. */
static void take_in_pending(struct session *s)
{
	blocked_samples samples = { 0 };

	sources_blocked(s->sources, want_tables, s);
	unwinding_update(s->unwinding, s->processes);
	blocked_threads_walk(s->sources, unwinding_tables(s->unwinding), &samples);
	take_in(s);
	vec_each(sample, &samples) {
		session_take_sample(s, *sample);
		free(*sample);
	}
	vec_fini(&samples);
}

static void await_agents(struct session *s)
{
	while (agents_are_busy(s->agents)) {
		usleep(AWAIT_US);
		take_in(s);
	}
}

/* Asks the agents which sampled objects are gone, while their answers are still read. */
static void settle_refs(struct session *s)
{
	await_agents(s);
	agents_report_refs(s->agents);
	await_agents(s);
}

static void judge_process(struct process *p, void *ctx)
{
	struct session *s = ctx;

	quality_judge(s->quality, p);
}

void session_stop(struct session *s)
{
	session_close_window(s);
	sources_stop_cpus(s->sources);
	workers_set_patience(s->workers, WAIT_END_NS);
	take_in(s);
	take_in_pending(s);
	session_take_unwalked(s, true);
	if (s->options.sampling.live)
		settle_refs(s);
	sources_stop(s->sources);
	function_window_report(s->sources);
	take_in(s);
	session_take_unwalked(s, true);
	set_urgent(s, false);
	samples_finish(&s->samples, s->window.end_ns);
	priority_raise(&s->priority, false);
	processes_each(s->processes, judge_process, s);
	notes_add(s);
	late_note(s);
}

void session_free(struct session *s)
{
	if (!s)
		return;
	sources_close(s->sources);
	sideband_close(s->sideband);
	unwinding_free(s->unwinding);
	remote_close(s->remote);
	if (s->receiver) {
		receiver_return(s->receiver, s->inbox.parcels);
		receiver_return(s->receiver, s->turn.parcels);
	}
	receiver_free(s->receiver);
	programs_free(s->bpf);
	samples_fini(&s->samples);
	unwalked_samples_fini(&s->unwalked_samples);
	inbox_fini(&s->inbox);
	inbox_fini(&s->turn);
	dict_fini(&s->jvms_seen);
	symbolizer_free(s->symbolizer);
	quality_free(s->quality);
	agents_free(s->agents);
	jvm_registry_free(s->jvms);
	processes_free(s->processes);
	containers_free(s->containers);
	profile_free(s->profile);
	rights_free(s->rights);
	workers_free(s->workers);
	free(s);
}

int session_fd(struct session *s)
{
	return wakes_left(&s->wakes, time_mono_ns()) ? sideband_fd(s->sideband) : -1;
}

void session_woken(struct session *s)
{
	wakes_take(&s->wakes, time_mono_ns());
	usleep(WOKEN_US);
}

struct agents *session_agents(struct session *s)
{
	return s->agents;
}

struct profile *session_profile(struct session *s)
{
	return s->profile;
}
