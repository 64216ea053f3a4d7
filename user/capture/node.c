/* SPDX-License-Identifier: Apache-2.0 */
/* The part of recording that all recordings of this process share. */
#include "capture/node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/events/sources.h"
#include "capture/kernel/cpulist.h"
#include "capture/kernel/priority.h"
#include "capture/kernel/privilege.h"
#include "capture/memory_limit.h"
#include "capture/node_state.h"
#include "capture/parsers.h"
#include "capture/programs/load.h"
#include "capture/programs/node_programs.h"
#include "capture/recording_apply.h"
#include "capture/recording_state.h"
#include "capture/rights.h"
#include "capture/sweep.h"
#include "jvm/process/process_names.h"
#include "proc/mem.h"

#define TICK_MS           200
#define TICK_ATTACHING_MS 50 /* while agents attach to JVMs */
#define TICK_UNLOADING_MS 10
#define TICK_STEPS_MS     5   /* while a recording begins or ends */
#define TICK_LAG_MS       300 /* while nobody waits for a sample */
#define WOKEN_US          2000
#define URGENT_NS         (5 * NS_PER_MS)
/* more bytes of records than this wait: the recorder is behind */
#define BEHIND_BYTES   (1u << 20)
#define POLL_NS        (50 * NS_PER_MS)
#define FOLLOW_NS      NS_PER_SEC
#define FOLLOW_CPUS_NS (5 * NS_PER_SEC)  /* while nobody waits for a sample */
#define WAIT_START_NS  (500 * NS_PER_MS) /* for workers, before sampling begins */
#define WAIT_TICK_NS   (20 * NS_PER_MS)  /* and in each tick while it samples */
#define KEEP_EXITED_NS (AGENT_PENDING_NS + 2 * NS_PER_SEC)
#define RING_BYTES     (2u << 20) /* some 32,000 forks, execs or exits between two reads */

/*
 * Starts the other processes, then waits for them: all drop their rights at the same time. The
 * workers come first, because they inherit the descriptors and memory that this process has by
 * then.
 */
static void limit_rights(struct node *n)
{
	int err = 0;

	n->workers = n->options.workers;
	if (!n->workers)
		err = parsers_new(&n->workers);
	if (mem_read_apart())
		log_warn("memory of processes is read by the recorder itself, without a deadline");
	n->timing_fd = n->options.times_programs ? load_timing_open() : -1;
	if (!n->options.keeps_rights)
		n->rights = rights_limit(&n->options);
	rights_await(n->rights);
	err = err ?: workers_await(n->workers);
	if (!err) {
		workers_set_patience(n->workers, WAIT_START_NS);
		return;
	}
	log_warn("files of processes are read by the recorder itself, without a deadline: no "
		 "process for it can be started: %s",
		 strerror(-err));
	workers_free(take(n->workers));
}

struct node *node_new(const struct node_options *options)
{
	struct node *n = xcalloc(1, sizeof(*n));

	n->options = *options;
	limit_rights(n);
	priority_init(&n->priority);
	priority_raise(&n->priority, true); /* until the first node_tick */
	n->followed_ns = n->swept_ns = time_mono_ns();
	n->processes = processes_new();
	n->containers = containers_new("");
	n->bound = options->within ? cgroup_bound_new(options->within) : NULL;
	n->agents = agents_new(options->agent_path, options->agent);
	n->jvms = jvm_registry_new();
	n->virtual_waits = virtual_waits_new();
	n->requests = requests_new();
	if (options->nr_labels)
		requests_read_locals(n->requests, n->jvms, options->labels, options->nr_labels);
	agents_use(n->agents, n->jvms, n->workers);
	facts_provide();
	n->frames = frames_new();
	if (options->lines)
		frames_keep_lines(n->frames);
	if (options->signatures)
		frames_keep_signatures(n->frames);
	n->symbolizer = symbolizer_new(n->frames, n->jvms, n->agents);
	symbolizer_use_workers(n->symbolizer, n->workers);
	if (options->addresses)
		symbolizer_keep_addresses(n->symbolizer);
	memory_limit_begin(&n->memory, n->symbolizer, n->workers);
	return n;
}

int node_load(struct node *n)
{
	const struct node_programs_options options = { .tables = memory_limit_tables(&n->memory),
						       .ring_bytes = RING_BYTES };
	int err = node_programs_load(&options, &n->bpf);

	if (err)
		return err;
	if (remote_is_wanted() && remote_open(&n->remote))
		log_warn("memory of other users' JVMs cannot be read, their Java code has no "
			 "names; run sysflame with CAP_SYS_PTRACE");
	n->receiver = receiver_new(node_programs_ring(n->bpf),
				   memory_limit_backlog_bytes(&n->memory), false);
	struct tables_fds fds = node_programs_tables(n->bpf);
	requests_use(n->requests, fds.context_places, fds.java_places);
	err = unwinding_new(&options.tables, &fds, n->jvms, &n->unwinding);
	if (err)
		log_error("the unwinder's tables cannot be mapped: %s", strerror(-err));
	else
		unwinding_use_workers(n->unwinding, n->workers);
	return err;
}

int node_start(struct node *n)
{
	int err = n->bpf ? 0 : node_load(n);

	if (err)
		return err;
	err = sideband_open(&n->sideband);
	if (err) {
		privilege_explain("following the mappings of processes", err);
		return err;
	}
	err = node_programs_attach(n->bpf);
	if (err)
		return err;
	/* Side band and programs report processes that begin while /proc is read. */
	err = processes_scan(n->processes);
	if (err < 0)
		log_error("/proc cannot be read: %s%s", descriptors_error_text(err),
			  err == -EMFILE ? "" : "; mount it");
	return err < 0 ? err : 0;
}

static void receive_from(struct node *n, struct receiver *receiver, struct recording *recording,
			 struct parcel **arrived)
{
	struct inbox_feed feed = { &n->inbox, recording };
	struct parcel *parcels = receiver_take(receiver);

	parcels_each(parcels, inbox_add_record, &feed);
	parcels_add(arrived, parcels);
}

static void receive_of_node(struct node *n)
{
	receive_from(n, n->receiver, NULL, &n->arrived);
}

/*
 * Empties the rings. That of the node comes last, so that it covers at least the time of the
 * recordings' records. While classes are being unloaded, names are resolved at once.
 */
static void receive(struct node *n)
{
	size_t known = n->inbox.items.nr;

	vec_each(r, &n->recordings)
		receive_from(n, (*r)->receiver, *r, &(*r)->arrived);
	receive_of_node(n);
	n->received_ns = time_mono_ns();
	for (size_t i = known; n->is_urgent && i < n->inbox.items.nr; i++) {
		const struct item *item = &n->inbox.items.at[i];
		if (item->kind == ITEM_SAMPLE)
			samples_foresee(&item->recording->samples, item->record);
	}
}

static bool is_behind(const struct node *n)
{
	vec_each(r, &n->recordings)
		if (receiver_backlog((*r)->receiver) > BEHIND_BYTES)
			return true;
	return false;
}

/*
 * Raises the priority while the recorder is behind or names classes that are about to be unloaded.
 */
static void set_priority(struct node *n)
{
	priority_raise(&n->priority, n->is_urgent || is_behind(n));
}

/* Does what cannot wait: reads the rings of fixed size, and makes room before memory runs out. */
static void poll_rings(struct node *n)
{
	receive_of_node(n);
	sideband_drain(n->sideband, inbox_add_side, &n->inbox);
	agents_poll(n->agents);
	memory_limit_check(&n->memory, n->symbolizer);
	n->polled_ns = time_mono_ns();
}

static void return_records(struct node *n)
{
	receiver_return(n->receiver, take(n->taken));
	vec_each(r, &n->recordings)
		receiver_return((*r)->receiver, take((*r)->taken));
}

/*
 * Reading symbols of the kernel or of a large file takes longer than a class may live. Applying
 * many samples takes longer than the rings can wait. Classes and rings are therefore read between
 * items.
 */
static void apply_turn(struct node *n)
{
	for (size_t i = 0; i < n->turn.items.nr; i++) {
		node_apply(n, &n->turn.items.at[i]);
		u64 now = time_mono_ns();
		if (n->is_urgent && now - n->received_ns > URGENT_NS)
			receive(n);
		if (now - n->polled_ns > POLL_NS) {
			set_priority(n);
			poll_rings(n);
		}
	}
	inbox_clear(&n->turn);
	return_records(n);
}

/*
 * The records older than the first read of a ring become this turn; later ones wait for the next.
 */
static void begin_turn(struct node *n)
{
	inbox_begin_turn(&n->inbox, n->turn_ns, &n->turn);
	n->taken = take(n->arrived);
	vec_each(r, &n->recordings)
		(*r)->taken = take((*r)->arrived);
}

/* Finds processes that became targets without a fork or exec. */
static void find_new_targets(struct recording *r)
{
	if (r->has_new_targets)
		targets_find_new(r->options.targets, r->node->processes, recording_admit, r);
	r->has_new_targets = false;
}

/* By hook of the agent: the effect on a recording if libjvm's own functions report instead. */
static const char *const effects[][2] = {
	[AGENT_HOOK_ALLOC] = { "alloc", "libjvm's own functions report it" },
	[AGENT_HOOK_LOCK] = { "lock", "monitors have no class" },
	[AGENT_HOOK_ALLOC | AGENT_HOOK_LOCK] = { "alloc and lock",
						 "libjvm's own functions report allocations, and "
						 "monitors have no class" },
};

/*
 * The agent of `p` does not report u->hooks, which the recording wants. Attaches their fallback
 * probes, and warns. Live objects have no fallback: libjvm does not report which objects are
 * reachable.
 */
static void hook_fallback_take(const struct unserved_hooks *u, const struct process *p,
			       struct sources *sources)
{
	u32 hooks = u->hooks & ~(u32)AGENT_HOOK_METHOD;

	if (u->hooks & AGENT_HOOK_METHOD)
		log_warn("calls of methods in %d are not recorded: %s", (int)u->id.pid, u->reason);
	if (sources_options(sources)->live && hooks & AGENT_HOOK_ALLOC) {
		log_warn("live objects of %d are not recorded: %s", (int)u->id.pid, u->reason);
		hooks &= ~(u32)AGENT_HOOK_ALLOC;
	}
	if (!hooks || hooks >= ARRAY_SIZE(effects))
		return;
	log_warn("%s in %d: %s, because the agent cannot report events: %s", effects[hooks][0],
		 (int)u->id.pid, effects[hooks][1], u->reason);
	sources_fall_back(sources, p, hooks);
}

/* The agent of `p` reports these hooks again: detaches their fallback probes. */
static void hook_fallback_end(u32 hooks, const struct process *p, struct sources *sources)
{
	log_debug("the agent of %d reports events again: %#x", (int)p->id.pid, hooks);
	sources_end_fallback(sources, p, hooks);
}

/*
 * Attaches and detaches fallback probes for agents that do not report all events, or report them
 * again.
 */
static void fall_back(const struct recording *r)
{
	const struct node *n = r->node;
	struct unserved_hooks u;
	struct process_id id;
	u32 hooks;

	while ((hooks = agents_next_served(n->agents, &r->hooks, &id))) {
		const struct process *p = processes_find(n->processes, id);
		if (p)
			hook_fallback_end(hooks, p, r->sources);
	}
	while (agents_next_unserved(n->agents, &r->hooks, &u)) {
		const struct process *p = processes_find(n->processes, u.id);
		if (p && targets_hold(r->options.targets, p))
			hook_fallback_take(&u, p, r->sources);
	}
}

/* Whether the window of a recording has just ended. */
static bool any_ends_now(const struct node *n)
{
	vec_each(r, &n->recordings)
		if ((*r)->state == RECORDING_ENDS && (*r)->ending == ENDING_PENDING)
			return true;
	return false;
}

static enum virtual_wants wants_virtual(const struct process *p, void *ctx)
{
	const struct node *n = ctx;
	enum virtual_wants most = VIRTUAL_WANTS_NONE;

	vec_each(r, &n->recordings) {
		enum virtual_wants wants = recording_wants_virtual(*r, p);
		most = wants > most ? wants : most;
	}
	return most;
}

static void take_virtual(struct process *p, const struct virtual_sample *s, void *ctx)
{
	struct node *n = ctx;

	vec_each(r, &n->recordings)
		if (recording_wants_virtual(*r, p))
			recording_take_virtual(*r, p, s);
}

static void take_in(struct node *n)
{
	/* The side band last: it then covers at least the time of the samples. */
	n->turn_ns = time_mono_ns();
	receive(n);
	poll_rings(n);
	set_priority(n);
	vec_each(r, &n->recordings) {
		fall_back(*r);
		samples_retry(&(*r)->samples);
	}
	begin_turn(n);
	apply_turn(n);
	vec_each(r, &n->recordings)
		find_new_targets(*r);
	vec_each(r, &n->recordings)
		sources_poll((*r)->sources, n->processes);
	unwinding_update(n->unwinding, n->processes);
	vec_each(r, &n->recordings)
		recording_take_unwalked(*r, false);
	virtual_waits_turn(n->virtual_waits, n->processes, n->jvms, any_ends_now(n), wants_virtual,
			   take_virtual, n);
}

static void forget_process(struct process *p, void *ctx)
{
	struct node *n = ctx;

	vec_each(r, &n->recordings)
		recording_forget(*r, p);
	requests_forget(n->requests, p);
	jvm_registry_remove(n->jvms, p->id);
	symbolizer_forget(n->symbolizer, p->id);
}

static bool any_in_steps(const struct node *n)
{
	vec_each(r, &n->recordings)
		if ((*r)->state != RECORDING_RUNS)
			return true;
	return false;
}

static bool any_begins(const struct node *n)
{
	vec_each(r, &n->recordings)
		if ((*r)->state == RECORDING_BEGINS)
			return true;
	return false;
}

/* Whether the node may process records late: nobody watches a recording of this node. */
static bool may_lag(const struct node *n)
{
	vec_each(r, &n->recordings)
		if (!(*r)->options.may_lag || (*r)->options.agent != AGENT_NEVER)
			return false;
	return true;
}

/* Classes must be named before they are unloaded. New mappings end the wait: node_fd. */
int node_tick_ms(const struct node *n)
{
	int most_ms = any_in_steps(n)                        ? TICK_STEPS_MS
		      : jvm_registry_unload_classes(n->jvms) ? TICK_UNLOADING_MS
		      : may_lag(n)                           ? TICK_LAG_MS
		      : agents_are_attaching(n->agents)      ? TICK_ATTACHING_MS
							     : TICK_MS;

	return virtual_waits_due_ms(n->virtual_waits, most_ms);
}

static void warn_of_runtimes(struct node *n)
{
	int err = containers_refused(n->containers);

	if (!err || n->has_warned_of_runtimes)
		return;
	n->has_warned_of_runtimes = true;
	log_warn("a container runtime cannot be asked for names: %s; containers whose names it "
		 "alone knows are not selected by name, and lines of " DENY_PATH
		 " do not exclude them; %s",
		 strerror(-err),
		 err == -EPERM ? "the process that asks (sysflame-opener) does not run"
			       : "record as the owner of its socket, usually root");
}

static void follow_cpus(struct node *n, u64 now_ns)
{
	if (may_lag(n) && now_ns - n->followed_cpus_ns <= FOLLOW_CPUS_NS)
		return;
	n->followed_cpus_ns = now_ns;
	auto_free char *history = cpulist_history();
	if (!hotplug_needs_look(&n->hotplug, history, time_mono_ns(), time_boot_ns()))
		return;
	vec_each(r, &n->recordings)
		sources_follow((*r)->sources);
	if (sideband_follow(n->sideband))
		processes_distrust(n->processes);
}

/* Once a second: forgets ended processes, follows CPUs, groups and whatever else changes slowly. */
static void follow(struct node *n, u64 now_ns)
{
	if (now_ns - n->followed_ns <= FOLLOW_NS)
		return;
	n->followed_ns = now_ns;
	processes_reap(n->processes, now_ns - KEEP_EXITED_NS, forget_process, n);
	if (!n->options.ends_without_helpers)
		rights_watch(n->rights);
	warn_of_runtimes(n);
	vec_each(r, &n->recordings)
		recording_follow(*r);
	follow_cpus(n, now_ns);
	if (now_ns - n->swept_ns < SWEEP_NS)
		return;
	n->swept_ns = now_ns;
	sweep(n, now_ns);
}

/* Advances the recordings. Those that are done leave the node. */
static void step(struct node *n)
{
	size_t kept = 0;

	vec_each(r, &n->recordings) {
		recording_step(*r);
		if ((*r)->state != RECORDING_DONE)
			n->recordings.at[kept++] = *r;
		else
			recording_leave(*r);
	}
	n->recordings.nr = kept;
	if (!kept) /* profiles are written with the caller's priority */
		priority_raise(&n->priority, false);
}

void node_tick(struct node *n)
{
	virtual_waits_catch(n->virtual_waits, any_ends_now(n));
	u64 now_ns = time_mono_ns();
	bool begins = any_begins(n);

	/*
	 * Reads the names of classes before they are unloaded. On a crowded node this reduced the
	 * names lost from 35 of 4,500 to 3.
	 */
	n->is_urgent = begins || jvm_registry_unload_classes(n->jvms);
	agents_set_urgent(n->agents, begins);
	set_priority(n);
	workers_set_patience(n->workers, begins ? 0 : WAIT_TICK_NS);
	workers_poll(n->workers);
	take_in(n);
	follow(n, now_ns);
	sweep_if_full(n);
	step(n);
}

void node_free(struct node *n)
{
	if (!n)
		return;
	priority_raise(&n->priority, false);
	sideband_close(n->sideband);
	unwinding_free(n->unwinding);
	requests_free(n->requests);
	remote_close(n->remote);
	if (n->receiver) {
		receiver_return(n->receiver, n->arrived);
		receiver_return(n->receiver, n->taken);
	}
	receiver_free(n->receiver);
	node_programs_free(n->bpf);
	inbox_fini(&n->inbox);
	inbox_fini(&n->turn);
	vec_fini(&n->recordings);
	symbolizer_free(n->symbolizer);
	agents_free(n->agents);
	virtual_waits_free(n->virtual_waits);
	jvm_registry_free(n->jvms);
	processes_free(n->processes);
	containers_free(n->containers);
	cgroup_bound_free(n->bound);
	frames_free(n->frames);
	hotplug_fini(&n->hotplug);
	rights_free(n->rights);
	workers_free(n->workers);
	if (n->timing_fd >= 0)
		close(n->timing_fd);
	free(n);
}

/* Nobody needs mappings while only stacks of the kernel are taken; ticks read the side band. */
static bool needs_mappings(const struct node *n)
{
	vec_each(r, &n->recordings)
		if (!(*r)->options.sampling.kernel_only)
			return true;
	return !n->recordings.nr;
}

int node_fd(struct node *n)
{
	return needs_mappings(n) && wakes_left(&n->wakes, time_mono_ns()) ? sideband_fd(n->sideband)
									  : -1;
}

void node_woken(struct node *n)
{
	wakes_take(&n->wakes, time_mono_ns());
	usleep(WOKEN_US);
}

enum node_helper node_lost_helper(const struct node *n)
{
	return workers_are_broken(n->workers) ? NODE_HELPER_ZYGOTE
	       : mem_reader_has_ended()       ? NODE_HELPER_MEMORY
	       : rights_are_lost(n->rights)   ? NODE_HELPER_ATTACH
					      : NR_NODE_HELPERS;
}

void node_warn_of_labels(const struct node *n)
{
	requests_warn_of_locals(n->requests);
}

struct agents *node_agents(struct node *n)
{
	return n->agents;
}

const char *node_unnamed_build(const struct node *n, size_t i)
{
	return symbolizer_unnamed_build(n->symbolizer, i);
}

struct workers *node_workers(struct node *n)
{
	return n->workers;
}

bool node_holds(const struct node *n, pid_t pid)
{
	return !n->bound || cgroup_bound_holds(n->bound, pid);
}

struct jvm_visit {
	const struct node *node;
	process_fn visit;
	void *ctx;
};

static void visit_jvm(struct process *p, void *ctx)
{
	const struct jvm_visit *v = ctx;

	if (!p->exit_ns && process_is_whole_jvm(p) && node_holds(v->node, p->id.pid))
		v->visit(p, v->ctx);
}

void node_each_jvm(struct node *n, process_fn visit, void *ctx)
{
	struct jvm_visit v = { n, visit, ctx };

	processes_each(n->processes, visit_jvm, &v);
}

static void visit_running(struct process *p, void *ctx)
{
	const struct jvm_visit *v = ctx;

	if (!p->exit_ns && node_holds(v->node, p->id.pid))
		v->visit(p, v->ctx);
}

void node_each_process(struct node *n, process_fn visit, void *ctx)
{
	struct jvm_visit v = { n, visit, ctx };

	processes_each(n->processes, visit_running, &v);
}

const struct container *node_container(struct node *n, struct process *p)
{
	return process_container(p, n->containers);
}

struct hotspot *node_jvm(const struct node *n, const struct process *p)
{
	return jvm_registry_find(n->jvms, p->id);
}

const struct process_names *node_names(struct node *n, struct process *p)
{
	const char *command = p->is_jvm ? jvm_registry_command(n->jvms, p->id) : NULL;

	return process_names_update(p, command, node_container(n, p), false);
}

const char *node_jvm_release(const struct node *n, const struct process *p)
{
	const struct hotspot *h = node_jvm(n, p);

	return h ? hotspot_release(h) : "";
}

u64 node_cpu_ns(const struct node *n)
{
	u64 sum = time_process_ns(0) + mem_readers_worked_ns() +
		  workers_usage(n->workers).worked_ns + n->past_run_ns;

	if (n->bpf)
		sum += node_programs_run_ns(n->bpf);
	vec_each(r, &n->recordings)
		sum += recording_run_ns(*r);
	return sum;
}
