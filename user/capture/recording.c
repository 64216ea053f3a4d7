/* SPDX-License-Identifier: Apache-2.0 */
/* A recording. */
#include "capture/recording.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/events/function_window.h"
#include "capture/kernel/priority.h"
#include "capture/kernel/privilege.h"
#include "capture/memory_limit.h"
#include "capture/notes.h"
#include "capture/recording_apply.h"
#include "capture/recording_state.h"
#include "capture/samples/samples.h"
#include "capture/samples/unwalked_samples.h"

/* Agents attach in processes of their own while the node's programs are loaded. */
static void request_agents(struct process *p, void *ctx)
{
	struct recording *r = ctx;

	if (process_is_whole_jvm(p) && targets_surely_select_jvm(r->options.targets, p->id.pid))
		agents_request(r->node->agents, p->id, p->program_ns, &r->hooks);
}

static void begin_attaches(struct recording *r)
{
	struct processes *now = processes_new();

	if (processes_scan(now) >= 0)
		processes_each(now, request_agents, r);
	processes_free(now);
	agents_poll(r->node->agents);
}

static void want_hooks(struct recording *r)
{
	const struct recording_options *o = &r->options;

	if (o->agent != AGENT_NEVER)
		sources_hooks(o->events, &o->sampling, &r->hooks);
	r->needs_hooks = agent_hooks_mask(&r->hooks) != 0;
	agents_set_urgent(r->node->agents, true);
	priority_raise(&r->node->priority, true); /* until it runs */
	if (r->needs_hooks && !privilege_check())
		begin_attaches(r);
}

struct recording *recording_new(struct node *n, const struct recording_options *options)
{
	struct recording *r = xcalloc(1, sizeof(*r));

	r->node = n;
	r->options = *options;
	if (n->options.within)
		targets_bound(options->targets, n->options.within);
	r->options.sampling.workers = n->workers;
	r->options.sampling.has_labels = n->options.nr_labels != 0;
	r->options.sampling.without_agent = options->agent == AGENT_NEVER;
	r->options.sampling.only_targets = targets_select(options->targets);
	r->began_ns = r->started_ns = time_mono_ns();
	r->worked_ns = time_worked_ns();
	r->window = (struct span){ TIME_NEVER, TIME_NEVER };
	r->model = (struct sink_model){
		.events = options->events,
		.frames = n->frames,
		.target = targets_text(options->targets),
		/* One sample in so many occurrences has no rate. */
		.rate_hz = options->sampling.period ? 0 : options->sampling.freq_hz,
	};
	r->samples = (struct samples){
		.agents = n->agents,
		.processes = n->processes,
		.jvms = n->jvms,
		.symbolizer = n->symbolizer,
		.frames = n->frames,
		.requests = n->requests,
		.are_held = options->sampling.live || options->sampling.leaks,
	};
	want_hooks(r);
	return r;
}

struct sink *recording_add_sink(struct recording *r, const struct sink_options *options)
{
	const struct node *n = r->node;
	const struct levels levels = {
		.symbolizer = n->symbolizer,
		.containers = n->containers,
		.jvms = n->jvms,
		.agents = n->agents,
	};
	struct sink *k = sink_new(options, &r->model, &levels);

	assert(!r->samples.sinks.nr || !samples_are_held(&r->samples));
	vec_push(&r->samples.sinks, k);
	return k;
}

int recording_load(struct recording *r)
{
	const struct recording_options *o = &r->options;
	struct programs_options bpf = {
		.tables = node_programs_tables(r->node->bpf),
		.ring_bytes = o->ring_bytes,
		.knobs.measure = o->measure,
		.ring_bytes_max = memory_limit_ring_bytes(&r->node->memory),
	};

	targets_configure(o->targets, r->node->containers, &bpf);
	sources_configure(o->events, &o->sampling, &bpf);
	function_window_configure(&o->sampling, &bpf.knobs);
	return programs_load_begin(&bpf, &r->bpf);
}

static int end_load(struct recording *r)
{
	struct targets *targets = r->options.targets;
	int err = programs_load_end(r->bpf) ?: targets_open(targets, r->bpf);

	if (err)
		return err;
	r->receiver = receiver_new(programs_ring(r->bpf),
				   memory_limit_backlog_bytes(&r->node->memory), true);
	return programs_attach_targets(r->bpf) ?: targets_select_children(targets);
}

static int open_sources(struct recording *r)
{
	const struct recording_options *o = &r->options;
	int err = end_load(r);

	if (err)
		return err;
	if (o->measure && programs_measure(r->bpf))
		log_warn("the kernel does not measure the run time of BPF programs");
	err = sources_open(r->bpf, o->events, &o->sampling, &r->sources);
	if (err)
		return err;
	r->samples.sources = r->sources;
	function_window_open(r->sources);
	return 0;
}

/* make_ready sets it up. */
static void admit_early(struct process *p, void *targets)
{
	targets_admit(targets, p);
}

static int admit_targets(struct recording *r)
{
	struct targets *t = r->options.targets;

	if (!targets_select(t))
		return 0;
	recording_find_services(r);
	int nr = targets_find_new(t, r->node->processes, admit_early, t);
	if (!nr)
		log_warn("no process is selected by %s; waiting for one", targets_text(t));
	return nr < 0 ? nr : 0;
}

/*
 * Requests the tables of JVMs early. Later make_ready requests the tables of all targets; for those
 * that were requested here this costs nothing.
 */
static void want_tables(struct process *p, void *ctx)
{
	struct recording *r = ctx;
	const struct targets *t = r->options.targets;

	if (process_is_whole_jvm(p) && targets_surely_select_jvm(t, p->id.pid) &&
	    !recording_is_denied(r, p))
		unwinding_want(r->node->unwinding, p);
}

/* Looks for contexts early: every process is a target. Later looks come from add_process. */
static void want_context(struct process *p, void *ctx)
{
	struct recording *r = ctx;

	if (p->mappings.nr && !recording_is_denied(r, p))
		requests_follow(r->node->requests, p);
}

/* Reads what is needed of running processes, while the programs are being loaded. */
static void prepare_processes(struct recording *r)
{
	struct node *n = r->node;

	processes_each(n->processes, want_tables, r);
	if (!targets_select(r->options.targets))
		processes_each(n->processes, want_context, r);
	unwinding_update(n->unwinding, n->processes);
}

/* Prepares JVMs and selected processes before the first sample. */
static void make_ready(struct process *p, void *ctx)
{
	struct recording *r = ctx;
	const struct targets *t = r->options.targets;

	if (!targets_hold(t, p) || (!targets_select(t) && !p->is_jvm) || recording_is_denied(r, p))
		return;
	unwinding_want(r->node->unwinding, p);
	if (p->is_jvm)
		recording_admit_jvm(r, p, r->needs_hooks || r->options.agent == AGENT_ALWAYS);
}

/*
 * The first cut counts files and mappings that the node left out before it began: they are missing
 * in it, too.
 */
static void set_before(struct recording *r)
{
	struct loss_counts *b = &r->before;

	recording_losses(r, b);
	b->nr_maps_left_out = b->nr_files_left_out = b->nr_memory_left_out = 0;
	b->nr_opens_late = 0;
	b->nr_mappings_left_out = b->nr_memory_drops = 0;
}

int recording_start(struct recording *r)
{
	struct node *n = r->node;
	int err = r->bpf ? 0 : recording_load(r);

	if (err)
		return err;
	prepare_processes(r);
	err = open_sources(r) ?: admit_targets(r);
	if (err)
		return err;
	processes_each(n->processes, make_ready, r);
	unwinding_update(n->unwinding, n->processes);
	recording_add_processes(r);
	/* The node has not yet applied the forks since its start. */
	r->has_new_targets = targets_select(r->options.targets);
	set_before(r);
	vec_push(&n->recordings, r);
	return 0;
}

enum recording_state recording_state(const struct recording *r)
{
	return r->state;
}

int recording_error(const struct recording *r)
{
	return r->error;
}

void recording_stop(struct recording *r)
{
	if (r->state == RECORDING_BEGINS)
		recording_open_window(r);
	if (r->state >= RECORDING_ENDS)
		return;
	recording_close_window(r);
	sources_stop_cpus(r->sources);
	r->state = RECORDING_ENDS;
	r->ending = ENDING_PENDING;
	r->step_ns = time_mono_ns();
}

void recording_leave(struct recording *r)
{
	r->node->past_run_ns += recording_run_ns(r);
	samples_own_frames(&r->samples); /* the node no longer knows which of its frames it uses */
	inbox_drop(&r->node->inbox, r);
}

static void leave_node(struct recording *r)
{
	struct node *n = r->node;
	size_t kept = 0;

	if (r->state != RECORDING_DONE) /* else node_tick has done it */
		recording_leave(r);
	vec_each(other, &n->recordings)
		if (*other != r)
			n->recordings.at[kept++] = *other;
	n->recordings.nr = kept;
}

void recording_free(struct recording *r)
{
	if (!r)
		return;
	leave_node(r);
	agents_release(r->node->agents, &r->hooks);
	sources_close(r->sources);
	if (r->receiver) {
		receiver_return(r->receiver, r->arrived);
		receiver_return(r->receiver, r->taken);
	}
	receiver_free(r->receiver);
	programs_free(r->bpf);
	samples_fini(&r->samples);
	unwalked_samples_fini(&r->unwalked_samples);
	vec_each(sample, &r->pending)
		free(*sample);
	vec_fini(&r->pending);
	dict_fini(&r->jvms_seen);
	free(r);
}

int recording_cut(struct recording *r, struct sink *k)
{
	struct loss_counts now;

	if (samples_are_held(&r->samples))
		return -ENOTSUP;
	u64 now_ns = time_mono_ns();
	if (r->state != RECORDING_RUNS || !recording_window_holds(r, now_ns))
		return -EAGAIN;
	recording_losses(r, &now);
	sink_split(k, now_ns, &now);
	return 0;
}

static void judge_process(struct process *p, void *cut)
{
	quality_judge(((struct cut *)cut)->quality, p);
}

struct cut *recording_take_cut(struct recording *r, struct sink *k)
{
	struct cut *c = sink_settle(k, r->settled_ns, r->node->processes);

	if (!c)
		return NULL;
	processes_each(r->node->processes, judge_process, c);
	notes_add(r, c);
	late_note(r, c);
	refused_note(r, c);
	return c;
}
