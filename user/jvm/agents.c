/* SPDX-License-Identifier: Apache-2.0 */
/* The agents in the JVMs of this node. */
#include "jvm/agents.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "jvm/agent_file.h"
#include "jvm/agents_entry.h"
#include "jvm/facts.h"
#include "jvm/refusals.h"
#include "proc/status.h"

#define PARALLEL_MAX    4 /* attaches at the same time */
#define TRIES_MAX       3
#define YOUNG_NS        (300 * NS_PER_MS) /* a JVM is not ready for an agent before */
#define RETRY_NS        (700 * NS_PER_MS) /* four times as long before each further try */
#define REPLAY_PAUSE_NS (10 * NS_PER_SEC)
#define LOOK_NS         NS_PER_SEC        /* whether JVMs still run */
#define KEEP_GONE_NS    (60 * NS_PER_SEC) /* what is known of a JVM that has ended */
#define FINISH_NS       (2 * NS_PER_SEC)
#define STOP_NS         (2 * NS_PER_SEC)

#define WAS_DETACHED                                                                         \
	"its agent was detached, by `sysflame jvms --detach` or since we stood still for a " \
	"minute; "                                                                           \
	"names are from outside from then on"

#define DROPS_CODE                                                                              \
	"it would drop all its compiled code for calls of a method to be told, as JDKs before " \
	"23 do; -e cpu or wall shows where the method's time goes"

struct agents *agents_new(const char *path, enum agent_mode mode)
{
	struct agents *a = xcalloc(1, sizeof(*a));

	a->mode = mode;
	a->path = agent_file_find(path) ?: xstrdup("");
	return a;
}

void agents_want(struct agents *a, const struct agent_hooks *hooks)
{
	a->hooks = *hooks;
}

void agents_tune(struct agents *a, enum delivery_way way, bool is_eager)
{
	a->way = way;
	a->is_eager = is_eager;
}

void agents_use_jvms(struct agents *a, struct jvms *jvms)
{
	a->jvms = jvms;
}

static void set_reason(struct agents_entry *e, const char *reason)
{
	free(e->reason);
	e->reason = xstrdup(reason);
}

static void refuse(struct agents_entry *e, const char *reason)
{
	set_reason(e, reason);
	e->state = AGENT_REFUSED;
}

/* The JVM was bothered with it: the next runs are to leave it alone for a while. */
static void refuse_and_keep(struct agents_entry *e, const char *reason)
{
	refuse(e, reason);
	refusal_add(e->pid, e->start_ns, reason, e->was_signalled);
}

/* What an earlier run has found; who insists does not ask. */
static void recall(const struct agents *a, struct agents_entry *e)
{
	auto_str struct str why = { 0 };
	struct refusal r;

	if (a->mode == AGENT_ALWAYS || !refusal_read(e->pid, e->start_ns, &r))
		return;
	e->was_signalled = r.was_signalled;
	if (refusal_holds(&r, &why))
		refuse(e, why.at);
}

void agents_request(struct agents *a, pid_t pid, u64 start_ns, u64 program_ns)
{
	if (a->mode == AGENT_NEVER || agents_find(a, pid, start_ns))
		return;
	*dict_add(&a->by_process, agents_key(pid, start_ns)) = a->entries.nr;
	vec_push(&a->entries, (struct agents_entry){
				      .pid = pid, .start_ns = start_ns, .program_ns = program_ns });

	struct agents_entry *e = &a->entries.at[a->entries.nr - 1];
	u64 age = time_boot_ns() - program_ns;
	e->state = AGENT_PENDING;
	struct proc_status status;
	e->is_nested = !proc_status_read(pid, &status) && status.nr_nspid > 1;
	e->next_ns = time_mono_ns() + (age < YOUNG_NS && !a->is_eager ? YOUNG_NS - age : 0);
	if (!*a->path)
		refuse(e, NO_AGENT_FILE);
	else
		recall(a, e);
}

/* --- commands -------------------------------------------------------------------------------- */

static int order(struct agents *a, struct agents_entry *e, enum inject_command command)
{
	e->order = (struct inject_order){
		.command = command,
		.pid = e->pid,
		.start_ns = e->start_ns,
		.program_ns = e->program_ns,
		.agent_path = a->path,
		.may_signal = !e->was_signalled,
		.way = a->way,
		.hooks = a->hooks,
	};
	/* A replay under way goes on unheeded, to its end or deadline. */
	if (e->injection)
		vec_push(&a->cleaners, take(e->injection));
	if (command == INJECT_START)
		inject_nonce(e->nonce);
	strcpy(e->order.nonce, e->nonce);
	strcpy(e->order.loaded_path, e->loaded_path);
	e->injected_ns = time_mono_ns();
	return inject_start(&e->order, &e->injection);
}

static void open_ring(struct agents_entry *e, const struct inject_result *result)
{
	codemap_free(e->map);
	e->map = codemap_new();
	if (agent_ring_open(result->ring_fd, e->nonce, result->clock_off_ns, e->map, &e->ring)) {
		codemap_free(e->map);
		e->map = NULL;
		refuse_and_keep(e,
				"its agent made a buffer that no agent of ours makes; restart it");
		return;
	}
	e->threads = e->threads ?: thread_names_new();
	agent_ring_tell_threads(e->ring, e->threads);
	e->state = AGENT_ATTACHED;
	e->attach_ns = time_mono_ns() - e->injected_ns;
	strcpy(e->loaded_path, result->loaded_path);
	e->drops_code = result->drops_code;
	set_reason(e, e->drops_code ? DROPS_CODE : "");
	refusal_forget(e->pid, e->start_ns);
}

static bool has_ended(const struct agents_entry *e)
{
	struct proc_status status;

	return proc_status_read(e->pid, &status) ||
	       !proc_same_start(status.start_ns, e->start_ns) || status.state == 'Z';
}

static void start_cleaner(struct agents *a, struct agents_entry *e)
{
	struct inject_order clean = e->order;
	struct injection *cleaner;

	clean.command = INJECT_CLEAN;
	if (inject_start(&clean, &cleaner) == 0)
		vec_push(&a->cleaners, cleaner);
}

static void try_later(struct agents_entry *e, const char *reason)
{
	set_reason(e, reason);
	e->state = AGENT_PENDING;
	e->next_ns = time_mono_ns() + (RETRY_NS << 2 * (e->tries - 1));
}

static void conclude(struct agents *a, struct agents_entry *e, const struct inject_result *result)
{
	e->was_signalled |= result->was_signalled;
	if (result->outcome != INJECT_DONE && e->order.command == INJECT_START)
		start_cleaner(a, e);
	if (e->order.command == INJECT_REFS && result->outcome != INJECT_DONE) {
		auto_free char *why =
			xasprintf("what is reachable in it was not found out: %s", result->reason);
		set_reason(e, why);
	}
	if (e->order.command != INJECT_START)
		return;
	if (result->outcome == INJECT_DONE) {
		open_ring(e, result);
	} else if (result->outcome == INJECT_RETRY && e->tries < TRIES_MAX) {
		try_later(e, result->reason);
	} else if (result->was_reached && !has_ended(e)) {
		refuse_and_keep(e, result->reason);
	} else {
		refuse(e, result->reason);
	}
}

/* One whose child is still dying waits among the cleaners for that. */
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
	size_t running = nr_running(a);
	u64 now = time_mono_ns();

	vec_each(e, &a->entries) {
		if (running >= PARALLEL_MAX)
			return;
		if (e->state != AGENT_PENDING || e->injection || now < e->next_ns)
			continue;
		e->tries++;
		int err = order(a, e, INJECT_START);
		if (err) {
			auto_free char *why = xasprintf(
				"no process can be made for the attach (%s)", strerror(-err));
			refuse(e, why);
		} else {
			running++;
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
	free(e->reason);
}

/* The last one takes its place. */
static void drop(struct agents *a, struct agents_entry *e)
{
	size_t index = (size_t)(e - a->entries.at);

	dict_remove(&a->by_process, agents_key(e->pid, e->start_ns));
	entry_fini(a, e);
	*e = a->entries.at[--a->entries.nr];
	if (index < a->entries.nr)
		*dict_find(&a->by_process, agents_key(e->pid, e->start_ns)) = index;
}

void agents_forget(struct agents *a, pid_t pid, u64 start_ns)
{
	struct agents_entry *e = agents_find(a, pid, start_ns);

	if (!e)
		return;
	refusal_forget(pid, start_ns);
	drop(a, e);
}

/* --- rings ----------------------------------------------------------------------------------- */

static void close_ring(struct agents_entry *e)
{
	e->ring_bytes = agent_ring_bytes(e->ring);
	e->nr_lost = agent_ring_nr_lost(e->ring);
	agent_ring_close(take(e->ring));
}

static void read_ring(struct agents *a, struct agents_entry *e, u64 now)
{
	auto_free char *failure = NULL;

	switch (agent_ring_read(e->ring)) {
	case RING_STARTING:
		break;
	case RING_LIVE:
		failure = e->reason && *e->reason ? NULL : agent_ring_hook_failure(e->ring);
		if (failure)
			set_reason(e, failure);
		break;
	case RING_FAILED:
		failure = agent_ring_failure(e->ring);
		if (agent_ring_was_early(e->ring) && e->tries < TRIES_MAX)
			try_later(e, failure);
		else
			refuse_and_keep(e, failure);
		agent_ring_stop(e->ring);
		close_ring(e);
		order(a, e, INJECT_STOP);
		return;
	case RING_STOPPED:
		set_reason(e, WAS_DETACHED);
		close_ring(e);
		return;
	case RING_BROKEN:
		refuse_and_keep(e, "its agent's buffer holds what no agent writes; restart it");
		agent_ring_stop(e->ring);
		close_ring(e);
		order(a, e, INJECT_STOP);
		return;
	}
	if (agent_ring_is_dirty(e->ring) && !e->injection &&
	    now > e->replayed_ns + REPLAY_PAUSE_NS) {
		e->replayed_ns = now;
		order(a, e, INJECT_REPLAY);
	}
}

static void note_end(struct agents_entry *e, u64 now)
{
	if (e->injection || !has_ended(e))
		return;
	e->gone_ns = now;
	if (!e->ring)
		return;
	agent_ring_read(e->ring);
	close_ring(e);
}

/* Lets go of JVMs that have ended; their names are still of use for a while. */
static void look_after(struct agents *a, u64 now)
{
	if (now < a->looked_ns + LOOK_NS)
		return;
	a->looked_ns = now;
	for (size_t i = a->entries.nr; i-- > 0;) {
		struct agents_entry *e = &a->entries.at[i];
		if (!e->gone_ns)
			note_end(e, now);
		else if (now > e->gone_ns + KEEP_GONE_NS) {
			a->nr_gone++;
			a->nr_gone_attached += e->state == AGENT_ATTACHED;
			a->nr_gone_refused += e->state == AGENT_REFUSED;
			drop(a, e);
		}
	}
}

void agents_poll(struct agents *a)
{
	u64 now = time_mono_ns();

	vec_each(e, &a->entries) {
		poll_injection(a, e);
		if (e->ring)
			read_ring(a, e, now);
		if (e->ring && a->jvms)
			facts_find(jvms_find(a->jvms, e->pid, e->start_ns), e->map);
	}
	poll_cleaners(a);
	start_due(a);
	look_after(a, now);
}

void agents_await(struct agents *a, u64 max_ns)
{
	u64 end = time_mono_ns() + max_ns;

	for (agents_poll(a); time_mono_ns() < end; agents_poll(a)) {
		bool is_under_way = false;
		vec_each(e, &a->entries)
			is_under_way |= e->state == AGENT_PENDING && e->tries <= 1;
		if (!is_under_way)
			return;
		usleep(2000);
	}
}

/* --- the end --------------------------------------------------------------------------------- */

/* Waits until no child runs any more, or the time is over. */
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

void agents_tell_refs(struct agents *a)
{
	vec_each(e, &a->entries)
		if (e->ring && !e->injection)
			order(a, e, INJECT_REFS);
}

bool agents_are_busy(const struct agents *a)
{
	return nr_running(a) > 0;
}

static void stop_session(struct agents *a, struct agents_entry *e)
{
	if (!e->ring)
		return;
	/* In case that the JVM is too busy for the command: the agent sees this as well. */
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
	dict_fini(&a->by_process);
	free(a->path);
	free(a);
}
