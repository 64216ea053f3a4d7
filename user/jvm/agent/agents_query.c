/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about the agents in the JVMs of this node. Part of jvm/agent/agents.h. */
#include <string.h>

#include "jvm/agent/agents_debug.h"
#include "jvm/agent/agents_entry.h"
#include "proc/status.h"

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

	return e && e->map ? codemap_find(e->map, pc, time_ns, compile_id, out, max) : 0;
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

_Static_assert(AGENT_HOOK_ALLOC == 1 << WIRE_HOOK_ALLOC && AGENT_HOOK_LOCK == 1 << WIRE_HOOK_LOCK &&
		       AGENT_HOOK_METHOD == 1 << WIRE_HOOK_METHOD,
	       "agent_ring_failed_hooks has the wire's bits");

u32 agents_method_number(const char *name)
{
	return wire_method_number(name, strlen(name));
}

static u32 wanted_hooks(const struct agents *a)
{
	return (a->hooks.alloc_interval ? AGENT_HOOK_ALLOC : 0) |
	       (a->hooks.lock_min_ns ? AGENT_HOOK_LOCK : 0) |
	       (*a->hooks.methods ? AGENT_HOOK_METHOD : 0);
}

/* Detached while its JVM continues. */
static bool was_detached(const struct agents_entry *e)
{
	return e->state == AGENT_ATTACHED && !e->ring && !e->gone_ns;
}

static u32 unserved_hooks_of(const struct agents *a, const struct agents_entry *e)
{
	if (e->state == AGENT_REFUSED || was_detached(e))
		return wanted_hooks(a);
	return e->ring ? agent_ring_failed_hooks(e->ring) | (e->drops_code ? AGENT_HOOK_METHOD : 0)
		       : 0;
}

u64 agents_report_since(const struct agents *a, struct process_id id, enum agent_hook hook)
{
	const struct agents_entry *e = agents_find(a, id);

	if (!e || e->state != AGENT_ATTACHED ||
	    !(wanted_hooks(a) & ~unserved_hooks_of(a, e) & hook))
		return 0;
	return e->injected_ns + e->attach_ns;
}

bool agents_next_unserved(struct agents *a, struct unserved_hooks *out)
{
	vec_each(e, &a->entries) {
		u32 hooks = unserved_hooks_of(a, e) & ~e->returned_unserved;
		if (!hooks)
			continue;
		e->returned_unserved |= hooks;
		*out = (struct unserved_hooks){ e->id, hooks, e->reason ?: "" };
		return true;
	}
	return false;
}

void agents_count(const struct agents *a, u32 *jvms, u32 *attached, u32 *refused)
{
	*jvms = (u32)a->entries.nr + a->nr_gone;
	*attached = a->nr_gone_attached;
	*refused = a->nr_gone_refused;
	vec_each(e, &a->entries) {
		*attached += e->state == AGENT_ATTACHED;
		*refused += e->state == AGENT_REFUSED;
	}
}

void agents_each(const struct agents *a,
		 void (*visit)(pid_t pid, enum agent_state state, const char *reason, void *ctx),
		 void *ctx)
{
	vec_each(e, &a->entries) {
		const char *reason = e->reason ?: "";
		/* Its session is closed, though it does not exit: see is_exiting in agents.c. */
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

const struct codemap *agents_codemap(const struct agents *a, struct process_id id,
				     struct agent_figures *out)
{
	const struct agents_entry *e = agents_find(a, id);

	if (!e || !e->map)
		return NULL;
	out->attach_ns = e->attach_ns;
	out->ring_bytes = e->ring ? agent_ring_bytes(e->ring) : e->ring_bytes;
	out->nr_lost = e->ring ? agent_ring_nr_lost(e->ring) : e->nr_lost;
	out->code = codemap_size(e->map);
	out->threads = e->threads;
	out->nonce = e->nonce;
	return e->map;
}

void agents_each_late(const struct agents *a, u64 since_ns, agents_late_fn visit, void *ctx)
{
	vec_each(e, &a->entries) {
		u32 hooks = wanted_hooks(a) & ~unserved_hooks_of(a, e);
		u64 told_ns = e->injected_ns + e->attach_ns;
		if (e->state == AGENT_ATTACHED && hooks && told_ns > since_ns)
			visit(e->id, hooks, told_ns, ctx);
	}
}
