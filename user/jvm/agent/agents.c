/* SPDX-License-Identifier: Apache-2.0 */
/* The agents in the JVMs of this node. */
#include "jvm/agent/agents.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "jvm/agent/agents_entry.h"
#include "jvm/agent/budget.h"
#include "jvm/agent/code_details.h"
#include "jvm/agent/entry_state.h"
#include "jvm/agent/turns.h"
#include "jvm/attach/agent_file.h"
#include "jvm/attach/job.h"
#include "jvm/attach/readiness.h"
#include "jvm/process/code_dependencies.h"
#include "proc/status.h"

#define DROPS_CODE                                                                               \
	"it would drop all its compiled code if calls of a method were reported; use JDK 23 or " \
	"newer, or start it with an agent that may change classes (a -javaagent with "           \
	"Can-Retransform-Classes)"
#define MAY_DROP_CODE                                                                           \
	"it would drop all its compiled code if calls of a method were reported, unless an "    \
	"agent that may change classes was there from its start, which its libjvm.so does not " \
	"show (%s); use JDK 23 or newer"

static void refuse(struct agents_entry *e)
{
	auto_free char *why = NULL;

	if (e->search_err)
		why = xasprintf(MAY_DROP_CODE, e->search_err == -ENOENT ? "it has no symbol table"
									: strerror(-e->search_err));
	e->drops_code = true;
	entry_set_reason(e, why ?: DROPS_CODE);
}

/*
 * Takes the result of a command with the wanted hooks. If the JVM would drop its code as far as is
 * known, starts the look-up, or sets drops_code and the reason.
 */
static void method_calls_note(struct agents *a, struct agents_entry *e,
			      const struct inject_result *result)
{
	e->drops_code = false;
	entry_set_reason(e, "");
	if (!result->drops_code)
		return;
	if (!e->dependencies && !e->search && result->libjvm)
		e->search_err =
			code_dependencies_search(a->workers, e->id.pid, result->libjvm, &e->search);
	if (!e->search)
		refuse(e);
}

/* Takes the answer of the look-up: sends the command again, or sets drops_code and the reason. */
static void method_calls_poll(struct agents_entry *e)
{
	if (!e->search)
		return;
	int err = code_dependencies_result(e->search, &e->dependencies);
	if (err == -EAGAIN)
		return;
	work_free(take(e->search));
	e->search_err = err;
	if (err)
		refuse(e);
	else
		hook_requests_repeat(&e->hooks);
}

#define YOUNG_NS        (300 * NS_PER_MS) /* a younger JVM is not ready for an agent */
#define REPLAY_PAUSE_NS (10 * NS_PER_SEC)
#define LOOK_NS         NS_PER_SEC        /* between checks whether JVMs still run */
#define KEEP_GONE_NS    (60 * NS_PER_SEC) /* data about a JVM that has ended */
#define KEEP_SHORT_NS   (5 * NS_PER_SEC)  /* while memory is short */
#define FINISH_NS       (2 * NS_PER_SEC)
#define STOP_NS         (2 * NS_PER_SEC)
#define EXIT_NS         (500 * NS_PER_MS) /* a JVM closes its sessions, then exits */

struct agents *agents_new(const char *path, enum agent_mode mode)
{
	struct agents *a = xcalloc(1, sizeof(*a));

	a->mode = mode;
	a->began_ns = time_mono_ns();
	a->path = agent_file_find(path) ?: xstrdup("");
	a->why_not_found = agent_file_missing(path);
	return a;
}

void agents_tune(struct agents *a, enum delivery_way way, bool is_eager)
{
	a->way = way;
	a->is_eager = is_eager;
}

void agents_use(struct agents *a, struct jvm_registry *jvms, struct workers *workers)
{
	a->jvms = jvms;
	a->workers = workers;
}

static void add_entry(struct agents *a, struct process_id id, u64 program_ns)
{
	*dict_add(&a->by_process, process_id_hash(id)) = a->entries.nr;
	vec_push(&a->entries, (struct agents_entry){ .id = id, .program_ns = program_ns });

	struct agents_entry *e = &a->entries.at[a->entries.nr - 1];
	u64 age = time_boot_ns() - program_ns;
	e->state = AGENT_PENDING;
	e->requested_ns = time_mono_ns();
	struct proc_status status;
	if (!proc_status_read(id.pid, &status)) {
		e->is_nested = status.nr_nspid > 1;
		e->uid = status.euid;
	}
	e->next_ns = time_mono_ns() + (age < YOUNG_NS && !a->is_eager ? YOUNG_NS - age : 0);
	if (!*a->path)
		entry_refuse(e, a->why_not_found);
	else
		entry_recall(a, e);
}

void agents_request(struct agents *a, struct process_id id, u64 program_ns,
		    const struct agent_hooks *hooks)
{
	struct agents_entry *e = agents_find(a, id);
	bool is_new = !e;

	if (a->mode == AGENT_NEVER)
		return;
	if (is_new)
		add_entry(a, id, program_ns);
	e = agents_find(a, id);
	if (hooks && hook_requests_add(&e->hooks, hooks) && !is_new && *a->path &&
	    (e->state == AGENT_REFUSED || e->state == AGENT_SPARED || agents_entry_was_detached(e)))
		entry_try_again(a, e);
}

void agents_release(struct agents *a, const struct agent_hooks *hooks)
{
	vec_each(e, &a->entries) {
		hook_requests_remove(&e->hooks, hooks);
		if (e->refs_for == hooks)
			e->refs_for = NULL;
	}
}

static int order(struct agents *a, struct agents_entry *e, enum inject_command command)
{
	e->order = (struct inject_order){
		.command = command,
		.id = e->id,
		.program_ns = e->program_ns,
		.agent_path = a->path,
		.may_warn = a->mode == AGENT_ALWAYS || agent_hooks_mask(&e->hooks.merged),
		.may_signal = !e->was_signalled,
		.may_have_no_vm = e->has_no_vm,
		.way = a->way,
		.hooks = e->hooks.merged,
		.dependencies = e->dependencies,
	};
	/*
	 * A replay in progress continues to its end or deadline, without effect on the new command.
	 */
	if (e->injection)
		vec_push(&a->cleaners, take(e->injection));
	if (command == INJECT_START) {
		inject_nonce(e->nonce);
		e->injected_ns = time_mono_ns();
	}
	if (command == INJECT_START || command == INJECT_HOOKS)
		hook_requests_send(&e->hooks);
	if (command == INJECT_REFS)
		e->order.hooks.collect = e->refs_for->collect;
	strcpy(e->order.nonce, e->nonce);
	strcpy(e->order.loaded_path, e->loaded_path);
	return inject_start(&e->order, &e->injection);
}

/* The agent reports the wanted events, perhaps without calls of methods. */
static void take_hooks(struct agents *a, struct agents_entry *e, const struct inject_result *result,
		       u64 now_ns)
{
	method_calls_note(a, e, result);
	hook_requests_succeed(&e->hooks, now_ns, result->drops_code ? AGENT_HOOK_METHOD : 0);
}

static void open_ring(struct agents *a, struct agents_entry *e, const struct inject_result *result)
{
	codemap_free(e->map);
	e->map = codemap_new();
	if (agent_ring_open(result->ring_fd, e->nonce, result->clock_off_ns, e->map, &e->ring)) {
		codemap_free(e->map);
		e->map = NULL;
		entry_refuse_and_keep(e, "its agent made a buffer of unknown format; restart it");
		return;
	}
	e->threads = e->threads ?: thread_names_new();
	agent_ring_report_threads(e->ring, e->threads);
	e->state = AGENT_ATTACHED;
	e->stopped_ns = 0;
	e->attach_ns = time_mono_ns() - e->injected_ns;
	e->takes_no_command = result->takes_no_command;
	strcpy(e->loaded_path, result->loaded_path);
	e->read_ns = time_mono_ns();
	refusal_forget(e->id);
	take_hooks(a, e, result, e->injected_ns + e->attach_ns);
}

/* The session goes on without that command. */
static void lose_command(struct agents_entry *e, enum inject_command command, const char *reason)
{
	auto_free char *why = NULL;

	if (command == INJECT_REFS) {
		why = xasprintf("its reachable objects are unknown: %s", reason);
	} else if (command == INJECT_HOOKS) {
		why = xasprintf("its agent cannot be asked for other events: %s", reason);
		hook_requests_fail(&e->hooks, time_mono_ns());
	}
	if (why)
		entry_set_reason(e, why);
}

/* Why a command could not be sent: the negative errno of `order`. */
static char *explain_order(int err)
{
	return err == -EPIPE
		       ? xstrdup(INJECT_NO_HELPER)
		       : xasprintf("cannot start a process for the attach (%s)", strerror(-err));
}

static void order_or_lose(struct agents *a, struct agents_entry *e, enum inject_command command)
{
	int err = order(a, e, command);

	if (!err)
		return;
	auto_free char *why = explain_order(err);
	lose_command(e, command, why);
}

static void start_cleaner(struct agents *a, struct agents_entry *e)
{
	struct inject_order clean = e->order;
	struct injection *cleaner;

	clean.command = INJECT_CLEAN;
	if (inject_start(&clean, &cleaner) == 0)
		vec_push(&a->cleaners, cleaner);
}

static void conclude(struct agents *a, struct agents_entry *e, const struct inject_result *result)
{
	e->was_signalled |= result->was_signalled;
	e->has_warned |= result->has_warned;
	e->has_no_vm &= !result->has_vm;
	if (result->outcome != INJECT_DONE && result->outcome != INJECT_SPARED &&
	    e->order.command == INJECT_START) {
		turns_charge(a, e, time_mono_ns() - e->injected_ns);
		if (result->is_lasting)
			start_cleaner(a, e);
	}
	if (e->order.command == INJECT_HOOKS && e->ring && result->outcome == INJECT_DONE)
		take_hooks(a, e, result, time_mono_ns());
	else if (result->outcome != INJECT_DONE && (e->ring || e->order.command == INJECT_REFS))
		lose_command(e, e->order.command, result->reason);
	if (e->order.command != INJECT_START)
		return;
	if (result->outcome == INJECT_SILENT)
		turns_leave(a, e, result->left_pid);
	if (result->outcome == INJECT_DONE)
		open_ring(a, e, result);
	else if (result->outcome == INJECT_SPARED)
		entry_spare(e, result->reason);
	else if (result->outcome == INJECT_DOUBT)
		entry_doubt(e, result->reason);
	else if (result->outcome == INJECT_WAIT)
		entry_wait_longer(e, result->reason);
	else
		entry_fail(e, result);
}

/* Frees the injection, or keeps it among the cleaners while its child is still dying. */
static void put_away(struct agents *a, struct injection *i)
{
	if (inject_has_ended(i))
		inject_free(i);
	else
		vec_push(&a->cleaners, i);
}

static void poll_injection(struct agents *a, struct agents_entry *e)
{
	struct inject_result result;

	if (!e->injection || inject_poll(e->injection, &result) == INJECT_RUNNING)
		return;
	put_away(a, take(e->injection));
	conclude(a, e, &result);
}

static void poll_cleaners(struct agents *a)
{
	struct inject_result result;
	size_t kept = 0;

	for (size_t i = 0; i < a->cleaners.nr; i++) {
		struct injection *cleaner = a->cleaners.at[i];
		if (inject_poll(cleaner, &result) != INJECT_RUNNING && result.ring_fd >= 0)
			close(result.ring_fd);
		if (inject_has_ended(cleaner))
			inject_free(cleaner);
		else
			a->cleaners.at[kept++] = cleaner;
	}
	a->cleaners.nr = kept;
}

static size_t nr_running(const struct agents *a)
{
	size_t nr = 0;

	vec_each(e, &a->entries)
		nr += e->injection != NULL;
	return nr;
}

static void start_due(struct agents *a)
{
	u64 now = time_mono_ns();
	struct agents_entry *e;

	while ((e = turns_next(a, now))) {
		if (turns_wait_for_memory(a, e)) {
			entry_refuse(e, INJECT_NO_MEMORY);
			continue;
		}
		e->tries++;
		int err = order(a, e, INJECT_START);
		if (err) {
			auto_free char *why = explain_order(err);
			entry_refuse(e, why);
		}
	}
}

static void entry_fini(struct agents *a, struct agents_entry *e)
{
	if (e->injection)
		start_cleaner(a, e);
	inject_free(e->injection);
	agent_ring_close(e->ring);
	codemap_free(e->map);
	thread_names_free(e->threads);
	hook_requests_fini(&e->hooks);
	work_free(e->search);
	free(e->reason);
}

/* Drops the entry; the last one moves to its place. */
static void drop(struct agents *a, struct agents_entry *e)
{
	size_t index = (size_t)(e - a->entries.at);

	dict_remove(&a->by_process, process_id_hash(e->id));
	entry_fini(a, e);
	*e = a->entries.at[--a->entries.nr];
	if (index < a->entries.nr)
		*dict_find(&a->by_process, process_id_hash(e->id)) = index;
}

void agents_forget(struct agents *a, struct process_id id)
{
	struct agents_entry *e = agents_find(a, id);

	if (!e)
		return;
	refusal_forget(id);
	drop(a, e);
}

static void close_ring(struct agents_entry *e)
{
	e->ring_bytes = agent_ring_bytes(e->ring);
	e->nr_lost = agent_ring_nr_lost(e->ring);
	agent_ring_close(take(e->ring));
}

/* A JVM that exits closes the sessions of its agent first. */
static bool is_exiting(struct agents_entry *e, u64 now)
{
	if (!e->stopped_ns)
		e->stopped_ns = now;
	return agents_entry_has_ended(e) || now < e->stopped_ns + EXIT_NS;
}

static void read_ring(struct agents *a, struct agents_entry *e, u64 now)
{
	auto_free char *failure = NULL;

	switch (agent_ring_read(e->ring)) {
	case RING_STARTING:
		e->read_ns = now;
		break;
	case RING_LIVE:
		e->read_ns = now;
		if (!e->reason || !*e->reason)
			failure = agent_ring_hook_failure(e->ring, ~0u, e->hooks.merged.methods);
		if (failure)
			entry_set_reason(e, failure);
		break;
	case RING_FAILED:
		failure = agent_ring_failure(e->ring);
		if (agent_ring_was_early(e->ring))
			entry_wait_longer(e, JOB_STILL_STARTING);
		else
			entry_refuse_and_keep(e, failure);
		agent_ring_stop(e->ring);
		close_ring(e);
		order(a, e, INJECT_STOP);
		return;
	case RING_STOPPED:
		if (is_exiting(e, now))
			return;
		close_ring(e);
		/* We stood still for so long that the agent gave us up. */
		if (e->stopped_ns > e->read_ns + WIRE_READER_TIMEOUT_NS / 2)
			entry_try_again(a, e);
		else
			entry_set_reason(e, AGENTS_WAS_DETACHED);
		return;
	case RING_BROKEN:
		entry_refuse_and_keep(e, "its agent's buffer has invalid content; restart it");
		agent_ring_stop(e->ring);
		close_ring(e);
		order(a, e, INJECT_STOP);
		return;
	}
	if (agent_ring_is_dirty(e->ring) && !e->injection && !e->takes_no_command &&
	    now > e->replayed_ns + REPLAY_PAUSE_NS) {
		e->replayed_ns = now;
		order(a, e, INJECT_REPLAY);
	}
}

/* One command to a JVM at a time. */
static void start_commands(struct agents *a, u64 now)
{
	vec_each(e, &a->entries) {
		if (!e->ring || e->injection || e->state != AGENT_ATTACHED)
			continue;
		if (e->refs_for) {
			order_or_lose(a, e, INJECT_REFS);
			e->refs_for = NULL;
		} else if (hook_requests_wait(&e->hooks) && now >= e->hooks.next_ns) {
			order_or_lose(a, e, INJECT_HOOKS);
		}
	}
}

static void note_left_out(struct agents_entry *e)
{
	size_t nr = codemap_size(e->map).nr_left_out + thread_names_left_out(e->threads) +
		    (e->ring ? agent_ring_nr_left_out(e->ring) : 0);

	if (!nr || e->state != AGENT_ATTACHED)
		return;
	auto_free char *why =
		xasprintf("its agent reports more than its user's processes may keep; "
			  "%zu names were left out",
			  nr);
	entry_set_reason(e, why);
}

static void note_end(struct agents_entry *e, u64 now)
{
	if (e->injection || !agents_entry_has_ended(e))
		return;
	/* One read takes only a part of a full ring; the next reads take the rest. */
	if (e->ring && agent_ring_read(e->ring) != RING_BROKEN && !agent_ring_is_drained(e->ring))
		return;
	e->gone_ns = now;
	if (e->ring)
		close_ring(e);
}

/* Handles JVMs that have ended; their names remain useful for a while. */
static void look_after(struct agents *a, u64 now)
{
	if (now < a->looked_ns + LOOK_NS)
		return;
	a->looked_ns = now;
	for (size_t i = a->entries.nr; i-- > 0;) {
		struct agents_entry *e = &a->entries.at[i];
		if (!e->gone_ns)
			note_end(e, now);
		else if (now >
			 e->gone_ns + (budget_is_short(a, e) ? KEEP_SHORT_NS : KEEP_GONE_NS)) {
			a->gone.jvms++;
			a->gone.attached += e->state == AGENT_ATTACHED;
			a->gone.refused += e->state == AGENT_REFUSED;
			a->gone.spared += e->state == AGENT_SPARED;
			a->gone.warned += e->has_warned;
			drop(a, e);
		}
	}
}

void agents_poll(struct agents *a)
{
	u64 now = time_mono_ns();

	budget_begin(a);
	vec_each(e, &a->entries) {
		poll_injection(a, e);
		method_calls_poll(e);
	}
	/* Each poll starts at another entry: a user's time may end before its last ring. */
	for (size_t i = 0; i < a->entries.nr; i++) {
		struct agents_entry *e = &a->entries.at[(a->next_read + i) % a->entries.nr];
		if (e->ring && budget_allow(a, e)) {
			u64 began_ns = time_mono_ns();
			read_ring(a, e, now);
			budget_charge(a, e, began_ns);
			note_left_out(e);
		}
		if (e->ring && a->jvms && !a->is_urgent)
			code_details_find(jvm_registry_find(a->jvms, e->id), e->map);
	}
	a->next_read++;
	poll_cleaners(a);
	start_commands(a, now);
	start_due(a);
	look_after(a, now);
}

/* Whether the first command with the present requests is due or running. */
static bool awaits_hooks(const struct agents_entry *e)
{
	return e->ring && !e->hooks.failures &&
	       (hook_requests_wait(&e->hooks) || e->search ||
		(e->injection && e->order.command == INJECT_HOOKS));
}

bool agents_are_attaching(const struct agents *a)
{
	vec_each(e, &a->entries)
		if ((e->state == AGENT_PENDING && e->tries <= 1) || awaits_hooks(e))
			return true;
	return false;
}

void agents_set_urgent(struct agents *a, bool is_urgent)
{
	a->is_urgent = is_urgent;
}

/* Waits until no child is running, or until the time has run out. */
static void await_children(struct agents *a, u64 max_ns)
{
	u64 end = time_mono_ns() + max_ns;

	while (nr_running(a) + a->cleaners.nr && time_mono_ns() < end) {
		usleep(2000);
		vec_each(e, &a->entries)
			poll_injection(a, e);
		poll_cleaners(a);
	}
}

void agents_report_refs(struct agents *a, const struct agent_hooks *hooks)
{
	vec_each(e, &a->entries)
		if (e->ring && hook_requests_find(&e->hooks, hooks))
			e->refs_for = hooks;
	start_commands(a, time_mono_ns());
}

bool agents_owe_refs(const struct agents *a, const struct agent_hooks *hooks)
{
	vec_each(e, &a->entries)
		if (e->ring && hook_requests_find(&e->hooks, hooks) &&
		    (e->refs_for || (e->injection && e->order.command == INJECT_REFS)))
			return true;
	return false;
}

static void stop_session(struct agents *a, struct agents_entry *e)
{
	if (!e->ring)
		return;
	/* The agent also checks this flag, in case the JVM is too busy for the command. */
	agent_ring_stop(e->ring);
	close_ring(e);
	order(a, e, INJECT_STOP);
}

void agents_free(struct agents *a)
{
	if (!a)
		return;
	await_children(a, FINISH_NS);
	vec_each(e, &a->entries)
		if (!e->injection)
			stop_session(a, e);
	await_children(a, STOP_NS);
	vec_each(e, &a->entries)
		entry_fini(a, e);
	a->entries.nr = 0;
	await_children(a, NS_PER_SEC);
	vec_each(cleaner, &a->cleaners)
		inject_free(*cleaner);
	vec_fini(&a->cleaners);
	vec_fini(&a->entries);
	vec_each(u, &a->users)
		vec_fini(&u->waiting);
	vec_fini(&a->users);
	dict_fini(&a->by_process);
	free(a->path);
	free(a);
}
