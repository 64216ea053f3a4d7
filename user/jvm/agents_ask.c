/* SPDX-License-Identifier: Apache-2.0 */
/* What the agents in the JVMs of this node have told. */
#include <string.h>

#include "jvm/agents_entry.h"
#include "proc/status.h"

enum agent_state agents_state(const struct agents *a, pid_t pid, u64 start_ns)
{
	const struct agents_entry *e = agents_find(a, pid, start_ns);

	return e ? e->state : AGENT_NONE;
}

int agents_name(struct agents *a, pid_t pid, u64 start_ns, u64 pc, u64 time_ns, u32 compile_id,
		struct java_frame *out, int max)
{
	const struct agents_entry *e = agents_find(a, pid, start_ns);

	return e && e->map ? codemap_find(e->map, pc, time_ns, compile_id, out, max) : 0;
}

const char *agents_thread_name(const struct agents *a, pid_t pid, u64 start_ns, pid_t tid,
			       const char *comm)
{
	const struct agents_entry *e = agents_find(a, pid, start_ns);
	struct proc_status status;

	if (!e || !e->threads)
		return NULL;
	/* A thread has a status file like a process; the agent knows the innermost tid only. */
	if (e->is_nested)
		tid = proc_status_read(tid, &status) ? 0 : status.nspid;
	return thread_names_told(e->threads, tid, comm);
}

const char *agents_class(const struct agents *a, pid_t pid, u64 start_ns, u64 number)
{
	const struct agents_entry *e = agents_find(a, pid, start_ns);

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

/* While its JVM goes on. */
static bool was_detached(const struct agents_entry *e)
{
	return e->state == AGENT_ATTACHED && !e->ring && !e->gone_ns;
}

static u32 untold_hooks(const struct agents *a, const struct agents_entry *e)
{
	if (e->state == AGENT_REFUSED || was_detached(e))
		return wanted_hooks(a);
	return e->ring ? agent_ring_failed_hooks(e->ring) | (e->drops_code ? AGENT_HOOK_METHOD : 0)
		       : 0;
}

u64 agents_tell_since(const struct agents *a, pid_t pid, u64 start_ns, enum agent_hook hook)
{
	const struct agents_entry *e = agents_find(a, pid, start_ns);

	if (!e || e->state != AGENT_ATTACHED || !(wanted_hooks(a) & ~untold_hooks(a, e) & hook))
		return 0;
	return e->injected_ns + e->attach_ns;
}

bool agents_next_untold(struct agents *a, struct untold *out)
{
	vec_each(e, &a->entries) {
		u32 hooks = e->was_untold ? 0 : untold_hooks(a, e);
		if (!hooks)
			continue;
		e->was_untold = true;
		*out = (struct untold){ e->pid, e->start_ns, hooks, e->reason ?: "" };
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
	vec_each(e, &a->entries)
		visit(e->pid, e->state, e->reason ? e->reason : "", ctx);
}

bool agents_are_read(const struct agents *a, pid_t pid, u64 start_ns)
{
	const struct agents_entry *e = agents_find(a, pid, start_ns);

	return !e || !e->ring ||
	       (!e->injection && !agent_ring_is_dirty(e->ring) && agent_ring_is_drained(e->ring));
}

const struct codemap *agents_codemap(const struct agents *a, pid_t pid, u64 start_ns,
				     struct agent_figures *out)
{
	const struct agents_entry *e = agents_find(a, pid, start_ns);

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
