/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about the agents in the JVMs of this node. Part of jvm/agent/agents.h. */
#include <stdlib.h>
#include <string.h>

#include "jvm/agent/agents_debug.h"
#include "jvm/agent/agents_entry.h"
#include "jvm/agent/budget.h"
#include "jvm/agent/code_details.h"
#include "proc/status.h"

#define TOO_MANY_METHODS "all recordings together name too many methods; stop another recording"

enum agent_state agents_state(const struct agents *a, struct process_id id)
{
	const struct agents_entry *e = agents_find(a, id);

	return e ? e->state : AGENT_NONE;
}

bool agents_is_undecided(const struct agents *a, struct process_id id)
{
	const struct agents_entry *e = agents_find(a, id);

	return e && e->state == AGENT_PENDING && (e->tries < AGENTS_TRIES_MAX || e->injection);
}

int agents_name(struct agents *a, struct process_id id, u64 pc, u64 time_ns, u32 compile_id,
		struct java_frame *out, int max)
{
	const struct agents_entry *e = agents_find(a, id);

	if (!e || !e->map)
		return 0;
	if (e->ring && a->jvms)
		code_details_find_at(jvm_registry_find(a->jvms, id), e->map, pc, time_ns,
				     compile_id);
	return codemap_find(e->map, pc, time_ns, compile_id, out, max);
}

const char *agents_thread_name(const struct agents *a, struct process_id id, pid_t tid,
			       const char *comm)
{
	const struct agents_entry *e = agents_find(a, id);
	struct proc_status status;

	if (!e || !e->threads)
		return NULL;
	/* A thread has a status file like a process. The agent knows only the innermost tid. */
	if (e->is_nested)
		tid = proc_status_read(tid, &status) ? 0 : status.nspid;
	return thread_names_reported(e->threads, tid, comm);
}

const char *agents_class(const struct agents *a, struct process_id id, u64 number)
{
	const struct agents_entry *e = agents_find(a, id);

	return e && e->map ? codemap_find_class(e->map, number) : NULL;
}

u32 agents_method_number(const char *name)
{
	return wire_method_number(name, strlen(name));
}

/* The hooks whose events the agent does not report to a recording that wants these methods. */
static u32 unserved_hooks_of(const struct agents_entry *e, const char *methods)
{
	if (e->state == AGENT_REFUSED || agents_entry_was_detached(e))
		return ~0u;
	if (!e->ring)
		return 0;
	return agent_ring_failed_hooks(e->ring, methods) | hook_requests_failed(&e->hooks) |
	       (e->drops_code || e->takes_no_command ? AGENT_HOOK_METHOD : 0);
}

/* When the agent began to report the hook; 0: it does not report it. */
static u64 report_ns(const struct agents_entry *e, u32 hook, const char *methods)
{
	for (u32 i = 0; i < AGENT_HOOKS; i++)
		if (hook == 1u << i)
			return unserved_hooks_of(e, methods) & hook ? 0 : e->hooks.since_ns[i];
	return 0;
}

u64 agents_report_since(const struct agents *a, struct process_id id, enum agent_hook hook)
{
	const struct agents_entry *e = agents_find(a, id);

	return e && e->state == AGENT_ATTACHED ? report_ns(e, hook, e->hooks.merged.methods) : 0;
}

static const char *reason_for(const struct agents_entry *e, struct hook_request *r, u32 unserved)
{
	if (unserved == r->left_out)
		return TOO_MANY_METHODS;
	free(r->why);
	r->why = e->ring ? agent_ring_hook_failure(e->ring, unserved, r->hooks->methods) : NULL;
	if (!r->why && e->ring && e->takes_no_command && unserved & AGENT_HOOK_METHOD)
		return INJECT_NO_COMMAND;
	return r->why ?: e->reason ?: "";
}

bool agents_next_unserved(struct agents *a, const struct agent_hooks *hooks,
			  struct unserved_hooks *out)
{
	vec_each(e, &a->entries) {
		struct hook_request *r = hook_requests_find(&e->hooks, hooks);
		if (!r)
			continue;
		u32 unserved = (unserved_hooks_of(e, hooks->methods) | r->left_out) &
			       agent_hooks_mask(hooks) & ~r->returned;
		if (!unserved)
			continue;
		r->returned |= unserved;
		*out = (struct unserved_hooks){ e->id, unserved, reason_for(e, r, unserved) };
		return true;
	}
	return false;
}

/* The hooks that agents_next_unserved has returned, but that the agent reports by now. */
static u32 served_hooks_of(const struct agents_entry *e, const struct hook_request *r)
{
	u32 served = 0;

	for (u32 i = 0; i < AGENT_HOOKS && e->ring && e->state == AGENT_ATTACHED; i++)
		served |= report_ns(e, 1u << i, r->hooks->methods) ? 1u << i : 0;
	return served & r->returned & ~r->left_out;
}

u32 agents_next_served(struct agents *a, const struct agent_hooks *hooks, struct process_id *id)
{
	vec_each(e, &a->entries) {
		struct hook_request *r = hook_requests_find(&e->hooks, hooks);
		u32 served = r ? served_hooks_of(e, r) : 0;
		if (!served)
			continue;
		r->returned &= ~served;
		*id = e->id;
		return served;
	}
	return 0;
}

void agents_count(const struct agents *a, struct agent_counts *out)
{
	*out = a->gone;
	out->jvms += (u32)a->entries.nr;
	vec_each(e, &a->entries) {
		out->attached += e->state == AGENT_ATTACHED;
		out->refused += e->state == AGENT_REFUSED;
		out->spared += e->state == AGENT_SPARED;
		out->warned += e->has_warned;
	}
}

void agents_each(const struct agents *a,
		 void (*visit)(pid_t pid, enum agent_state state, const char *reason, void *ctx),
		 void *ctx)
{
	vec_each(e, &a->entries) {
		const char *reason = e->reason ?: "";
		/*
		 * The session is closed although the JVM does not exit: see is_exiting in agents.c.
		 */
		if (e->ring && e->stopped_ns && !agents_entry_has_ended(e))
			reason = AGENTS_WAS_DETACHED;
		visit(e->id.pid, e->state, reason, ctx);
	}
}

u64 agents_read_until(const struct agents *a, struct process_id id)
{
	const struct agents_entry *e = agents_find(a, id);

	return e && e->ring ? agent_ring_read_until(e->ring) : UINT64_MAX;
}

bool agents_are_read(const struct agents *a, struct process_id id)
{
	const struct agents_entry *e = agents_find(a, id);

	return !e || !e->ring ||
	       (!e->injection && !agent_ring_is_dirty(e->ring) && agent_ring_is_drained(e->ring));
}

const struct codemap *agents_codemap(struct agents *a, struct process_id id,
				     struct agent_figures *out)
{
	const struct agents_entry *e = agents_find(a, id);

	if (!e || !e->map)
		return NULL;
	if (a->jvms)
		code_details_find_unread(jvm_registry_find(a->jvms, id), e->map);
	out->attach_ns = e->attach_ns;
	out->ring_bytes = e->ring ? agent_ring_bytes(e->ring) : e->ring_bytes;
	out->nr_lost = e->ring ? agent_ring_nr_lost(e->ring) : e->nr_lost;
	out->code = codemap_size(e->map);
	out->threads = e->threads;
	out->nonce = e->nonce;
	return e->map;
}

/*
 * Visits the hooks that the agent began to report late. Hooks with the same time are visited
 * together.
 */
static void visit_late(const struct agents_entry *e, const struct agent_hooks *wanted, u64 since_ns,
		       agents_late_fn visit, void *ctx)
{
	u32 left = agent_hooks_mask(wanted);

	for (u32 i = 0; i < AGENT_HOOKS; i++) {
		u64 begin_ns = report_ns(e, left & 1u << i, wanted->methods);
		u32 hooks = 0;
		for (u32 k = i; k < AGENT_HOOKS && begin_ns > since_ns; k++)
			if (report_ns(e, left & 1u << k, wanted->methods) == begin_ns)
				hooks |= 1u << k;
		if (hooks)
			visit(e->id, hooks, begin_ns, ctx);
		left &= ~hooks;
	}
}

void agents_each_late(const struct agents *a, const struct agent_hooks *wanted, u64 since_ns,
		      agents_late_fn visit, void *ctx)
{
	vec_each(e, &a->entries) {
		if (e->state == AGENT_ATTACHED)
			visit_late(e, wanted, since_ns, visit, ctx);
	}
}

void agents_each_cache(const struct agents *a, cache_use_fn visit, void *ctx)
{
	const struct cache_use maps = { "code_maps", a->entries.nr, a->bytes, AGENTS_BYTES };

	visit(&maps, ctx);
}
