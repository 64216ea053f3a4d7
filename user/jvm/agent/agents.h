/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agents in the JVMs of this node: attaches in the background, keeps their reports, and ends
 * all sessions at the end. A process is identified by (pid, start_ns), start_ns with the precision
 * of /proc (PROC_TICK_NS). Only agents_free blocks.
 */
#pragma once

#include "base/dict.h"
#include "jvm/agent/codemap.h"
#include "jvm/attach/deliver.h"
#include "jvm/attach/inject.h"
#include "jvm/hotspot/jvm_registry.h"
#include "jvm/memory/java_frame.h"
#include "proc/status.h"

enum agent_mode {
	AGENT_AUTO,
	AGENT_ALWAYS, /* as AUTO; the caller ends the recording after a refusal */
	AGENT_NEVER,
};

enum agent_state {
	AGENT_NONE,     /* never requested */
	AGENT_PENDING,  /* an attach is in progress or will be retried, if need be for ever */
	AGENT_ATTACHED, /* names are available, also after the JVM has ended */
	AGENT_REFUSED,  /* permanently; `reason` explains it */
	AGENT_SPARED,   /* not attached: only names were wanted, and it would print a warning */
};

struct agents;
struct workers;

/* `path` as for agent_file_find. If there is no file, every refusal has that reason. */
struct agents *agents_new(const char *path, enum agent_mode mode);

/* For tests: sets another way of delivery, and attaches to JVMs of any age. */
void agents_tune(struct agents *a, enum delivery_way way, bool is_eager);

/* Ends all sessions within at most 4 s. Only the agent's code stays in the JVMs. */
void agents_free(struct agents *a);

/* Reports what is kept of the reports of all agents. */
void agents_each_cache(const struct agents *a, cache_use_fn visit, void *ctx);

/*
 * Sets the JVMs whose tables supply what agents cannot report, compiler and compile id of code, and
 * the workers that read files of JVMs. Both may be NULL, and must outlive `a`.
 */
void agents_use(struct agents *a, struct jvm_registry *jvms, struct workers *workers);

/*
 * Requests an attach to a JVM; repeated requests do no harm. `program_ns` is the time at which the
 * process executed the JVM, which needs some time to get ready; start_ns if unknown. `hooks`: the
 * events that it shall report besides names, NULL for none; the pointer identifies the caller and
 * stays valid until agents_release. The agent reports with the finest settings of all callers. A
 * JVM whose agent was refused or detached is tried again for a new caller.
 */
void agents_request(struct agents *a, struct process_id id, u64 program_ns,
		    const struct agent_hooks *hooks);

/* No JVM needs to report these events any more. */
void agents_release(struct agents *a, const struct agent_hooks *hooks);

/* The process executes another program: drops its agent and all reports. */
void agents_forget(struct agents *a, struct process_id id);

/* Starts requested attaches, collects their results, reads all rings. Call it every 100 ms. */
void agents_poll(struct agents *a);

/*
 * Requests the agents that report `hooks` to report the sampled objects that are gone. agents_each
 * shows failures.
 */
void agents_report_refs(struct agents *a, const struct agent_hooks *hooks);

/*
 * Whether reports of agents_report_refs are in progress; agents_poll advances them. Each ends
 * within a minute.
 */
bool agents_owe_refs(const struct agents *a, const struct agent_hooks *hooks);

/* The hook's number of a method, "a/B.run"; all names have at most AGENT_METHODS_MAX bytes. */
u32 agents_method_number(const char *name);
#define AGENT_METHODS_MAX WIRE_METHODS_MAX

/* A JVM whose agent does not report the requested events. */
struct unserved_hooks {
	struct process_id id;
	u32 hooks;          /* enum agent_hook */
	const char *reason; /* valid until the next agents_poll */
};

/*
 * Fills in the next JVM that does not report the events of `hooks`. Returns false after the last
 * one. A hook of a JVM is returned once; after agents_next_served has returned it, it may be
 * returned again.
 */
bool agents_next_unserved(struct agents *a, const struct agent_hooks *hooks,
			  struct unserved_hooks *out);

/*
 * Returns hooks that agents_next_unserved has returned and whose events the JVM *id now reports.
 * One JVM at a call; 0: there are no more.
 */
u32 agents_next_served(struct agents *a, const struct agent_hooks *hooks, struct process_id *id);

/* Since when the JVM's agent reports that event, CLOCK_MONOTONIC; 0 if it does not (any more). */
u64 agents_report_since(const struct agents *a, struct process_id id, enum agent_hook hook);

/* Visits each JVM whose agent began to report some of `wanted` after `since_ns`, at `report_ns`. */
typedef void (*agents_late_fn)(struct process_id id, u32 hooks, u64 report_ns, void *ctx);
void agents_each_late(const struct agents *a, const struct agent_hooks *wanted, u64 since_ns,
		      agents_late_fn visit, void *ctx);

/* Whether a first attach or new hooks are in progress or about to start; retries do not count. */
bool agents_are_attaching(const struct agents *a);

/* While it is set, agents_poll skips work that only naming needs. */
void agents_set_urgent(struct agents *a, bool is_urgent);

enum agent_state agents_state(const struct agents *a, struct process_id id);

/* Whether the state may still change soon: AGENT_PENDING with fewer than three tries. */
bool agents_is_undecided(const struct agents *a, struct process_id id);

/*
 * The frames at a pc of a JVM at a CLOCK_MONOTONIC time, leaf first; 0 if unknown (yet: agents_poll
 * reads reports up to 100 ms late). See codemap_find.
 */
int agents_name(struct agents *a, struct process_id id, u64 pc, u64 time_ns, u32 compile_id,
		struct java_frame *out, int max);

/*
 * The name of a thread at its start, for threads that ended before jvm_registry_thread_name could
 * read it. Clean UTF-8, valid until the next agents_poll. NULL if the thread started before the
 * attach, or if its comm shows another name.
 */
const char *agents_thread_name(const struct agents *a, struct process_id id, pid_t tid,
			       const char *comm);

/* The class for a number that a hook passed; NULL if unknown (yet). Valid until agents_poll. */
const char *agents_class(const struct agents *a, struct process_id id, u64 number);

/* Numbers of JVMs, including ended ones that agents_each leaves out. `warned` printed a warning. */
struct agent_counts {
	u32 jvms, attached, refused, spared, warned;
};
void agents_count(const struct agents *a, struct agent_counts *out);

/*
 * `reason` is "why; what to do" for AGENT_REFUSED, the last failure for AGENT_PENDING, and for
 * AGENT_ATTACHED why some events are not reported; or "".
 */
void agents_each(const struct agents *a,
		 void (*visit)(pid_t pid, enum agent_state state, const char *reason, void *ctx),
		 void *ctx);

/* Reports were read until that CLOCK_MONOTONIC time; UINT64_MAX if no more will come. */
u64 agents_read_until(const struct agents *a, struct process_id id);

/* Whether all reports of an agent have been read and none was lost. */
bool agents_are_read(const struct agents *a, struct process_id id);
