/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agents in the JVMs of this node: attaches in the background, keeps what they report, and
 * takes everything back at the end. A process is known by (pid, start_ns), start_ns at the
 * precision of /proc (PROC_TICK_NS). Nothing here blocks except agents_free.
 */
#pragma once

#include "base/types.h"
#include "jvm/codemap.h"
#include "jvm/deliver.h"
#include "jvm/inject.h"
#include "jvm/java_frame.h"
#include "jvm/jvms.h"

enum agent_mode {
	AGENT_AUTO,
	AGENT_ALWAYS, /* as AUTO; that a refusal ends the recording is the caller's affair */
	AGENT_NEVER,
};

enum agent_state {
	AGENT_NONE,     /* never asked for */
	AGENT_PENDING,  /* an attach is under way or will be tried again */
	AGENT_ATTACHED, /* names can be asked for, also after the JVM has ended */
	AGENT_REFUSED,  /* for good; the reason says why */
};

struct agents;

/* `path` as for agent_file_find; that there is none shows as the reason of every refusal. */
struct agents *agents_new(const char *path, enum agent_mode mode);

/* What the agents are to tell besides code, from the next attach on. */
void agents_want(struct agents *a, const struct agent_hooks *hooks);

/* For tests: another way of delivery than the best, and attaches at any age of the JVM. */
void agents_tune(struct agents *a, enum delivery_way way, bool is_eager);

/* Ends all sessions, for which it waits at most 4 s; nothing stays behind in the JVMs but code. */
void agents_free(struct agents *a);

/*
 * Whose tables are asked for what agents cannot report: which compiler made code, with which
 * compile id. NULL: nobody is asked. Must outlive `a`.
 */
void agents_use_jvms(struct agents *a, struct jvms *jvms);

/*
 * Asks for an attach to a JVM; once is enough, more often does no harm. `program_ns` is when the
 * process executed the JVM, which needs a while until it is ready; start_ns if it is not known.
 */
void agents_request(struct agents *a, pid_t pid, u64 start_ns, u64 program_ns);

/* The process executes another program: there is no agent in it, and what one told is forgotten. */
void agents_forget(struct agents *a, pid_t pid, u64 start_ns);

/* Starts what was asked for, collects what is done, reads all rings: call it every 50 ms. */
void agents_poll(struct agents *a);

/* Has the agents tell what is gone of sampled objects; what fails shows in agents_each. */
void agents_tell_refs(struct agents *a);

/* Whether commands are under way; agents_poll brings them on. */
bool agents_are_busy(const struct agents *a);

/* What agents tell of besides names, as bits. */
enum agent_hook {
	AGENT_HOOK_ALLOC = 1 << 0,
	AGENT_HOOK_LOCK = 1 << 1,
	AGENT_HOOK_METHOD = 1 << 2,
};

/* By which the hook means a method, "a/B.run"; all names together have at most so many bytes. */
u32 agents_method_number(const char *name);
#define AGENT_METHODS_MAX WIRE_METHODS_MAX

/* A JVM whose agent, for good, does not tell of events that it was to tell of. */
struct untold {
	pid_t pid;
	u64 start_ns;
	u32 hooks;          /* enum agent_hook */
	const char *reason; /* valid until the next agents_poll */
};

/* The next one that became known, each once; false: there is none. */
bool agents_next_untold(struct agents *a, struct untold *out);

/* Since when the JVM's agent tells of that, CLOCK_MONOTONIC; 0 if it does not (any more). */
u64 agents_tell_since(const struct agents *a, pid_t pid, u64 start_ns, enum agent_hook hook);

/* Polls until no attach is under way, that is not still to be tried again, at most so long. */
void agents_await(struct agents *a, u64 max_ns);

enum agent_state agents_state(const struct agents *a, pid_t pid, u64 start_ns);

/*
 * The frames at a pc of a JVM at a CLOCK_MONOTONIC time, leaf first; 0 if it is not known (yet:
 * reports come up to 50 ms late, and are read by agents_poll). See codemap_find.
 */
int agents_name(struct agents *a, pid_t pid, u64 start_ns, u64 pc, u64 time_ns, u32 compile_id,
		struct java_frame *out, int max);

/*
 * The name that a thread had when it started, clean UTF-8, valid until the next agents_poll; NULL
 * if it started before the attach or its comm says that it has another. For threads that ended
 * before jvms_thread_name could read them.
 */
const char *agents_thread_name(const struct agents *a, pid_t pid, u64 start_ns, pid_t tid,
			       const char *comm);

/*
 * The class that a hook of a JVM meant by a number; NULL if it is not known (yet). Valid until
 * agents_free or 60 s after the JVM's end.
 */
const char *agents_class(const struct agents *a, pid_t pid, u64 start_ns, u64 number);

/* How many JVMs were asked for, and what became of them; agents_each leaves out what is long gone.
 */
void agents_count(const struct agents *a, u32 *jvms, u32 *attached, u32 *refused);

/*
 * `reason` is "why; what to do" for AGENT_REFUSED, the last failure for AGENT_PENDING, for
 * AGENT_ATTACHED why it does not tell all that is wanted; or "".
 */
void agents_each(const struct agents *a,
		 void (*visit)(pid_t pid, enum agent_state state, const char *reason, void *ctx),
		 void *ctx);

struct agent_figures {
	u64 attach_ns;  /* from the start of the child to the open ring */
	u64 ring_bytes; /* read so far */
	u64 nr_lost;    /* records the JVM dropped because we were too slow */
	struct codemap_size code;
	const struct thread_names *threads; /* that started since; tids of its pid namespace */
	const char *nonce;                  /* of the session, as in the name of its memfd */
};

/* Whether all that one agent has told was read, and nothing of it is missing. */
bool agents_are_read(const struct agents *a, pid_t pid, u64 start_ns);

/* For developers: what one agent has told; NULL if it is not attached. */
const struct codemap *agents_codemap(const struct agents *a, pid_t pid, u64 start_ns,
				     struct agent_figures *out);
