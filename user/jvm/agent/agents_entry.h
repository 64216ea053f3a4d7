/* SPDX-License-Identifier: Apache-2.0 */
/* The data about agents. agents.c changes it, agents_query.c answers questions about it. */
#pragma once

#include "base/dict.h"
#include "base/vec.h"
#include "jvm/agent/agent_ring.h"
#include "jvm/agent/agents.h"
#include "jvm/agent/hook_requests.h"
#include "jvm/attach/inject.h"
#include "proc/status.h"
#include "sandbox/workers.h"

#define AGENTS_TRIES_MAX 4

#define AGENTS_WAS_DETACHED                                                                    \
	"its agent was detached by `sysflame jvms --detach` or a sysflame with another agent " \
	"file; names are from outside since then"

struct agents_entry {
	struct process_id id;
	u64 program_ns;
	enum agent_state state;
	char *reason; /* NULL if none */
	int tries;    /* attaches that were started */
	int failures; /* failed tries whose cause may persist */
	u64 requested_ns;
	u64 next_ns; /* no attach before */
	bool was_signalled, has_warned;
	bool is_nested; /* in a pid namespace of its own */
	uid_t uid;
	bool takes_no_command; /* its agent takes no commands: only another attach reaches it */
	/* no VM could be read in the process yet: perhaps it only maps a file named libjvm.so */
	bool has_no_vm;

	struct injection *injection; /* NULL if none is running */
	struct inject_order order;   /* the running or last one */
	u64 injected_ns, attach_ns;  /* time of the attach's start, and its duration */
	struct agent_ring *ring;     /* NULL without a session */
	u64 replayed_ns, gone_ns;
	u64 stopped_ns;          /* since when its session is closed; 0: open */
	u64 ring_bytes, nr_lost; /* of a closed ring */
	u64 read_ns;             /* when its ring was last read */
	struct hook_requests hooks;
	/* the owner that asked for a report of references; NULL: none */
	const struct agent_hooks *refs_for;
	u64 bytes; /* bytes kept of its reports, for budget.c */
	/* the JVM would drop its compiled code if the agent had to report calls */
	bool drops_code;
	struct work *search; /* for `dependencies`; NULL if none is running */
	u64 dependencies;    /* of inject_order; 0: unknown */
	int search_err;      /* why the last search failed; 0: it did not */
	struct codemap *map;
	struct thread_names *threads;
	char nonce[WIRE_NONCE_LEN + 1];
	char loaded_path[DELIVERY_PATH_MAX];
};

/* Memory and time that the processes of one user have taken, for turns.c and budget.c. */
struct agents_user {
	uid_t uid;
	u32 running, running_novm;
	u64 failed_ns; /* time of attaches without success */
	/* processes left behind by attaches, which wait for memory of a JVM */
	VEC(struct process_id) waiting;
	u64 bytes;   /* kept of reports */
	u64 read_ns; /* time spent on this user's reports in this poll */
};

struct agents {
	enum agent_mode mode;
	enum delivery_way way;
	bool is_eager;
	bool is_urgent;
	char *path; /* of the agent's file; "" if it was not found */
	/* why the file was not found: the reason that refused JVMs get */
	const char *why_not_found;
	struct jvm_registry *jvms; /* owned by the caller; NULL: not used */
	struct workers *workers;   /* the same */
	VEC(struct agents_entry) entries;
	struct dict by_process; /* process_id_hash -> index in entries */
	VEC(struct injection *) cleaners;
	VEC(struct agents_user) users;
	u64 began_ns;
	u64 bytes;        /* kept of all reports */
	size_t next_read; /* entry whose ring is read first in the next poll */
	u64 looked_ns;
	struct agent_counts gone; /* dropped entries */
};

static inline struct agents_entry *agents_find(const struct agents *a, struct process_id id)
{
	const u64 *index = dict_find(&a->by_process, process_id_hash(id));

	return index ? &a->entries.at[*index] : NULL;
}

/* Detached while its JVM continues. */
static inline bool agents_entry_was_detached(const struct agents_entry *e)
{
	return e->state == AGENT_ATTACHED && !e->ring && !e->gone_ns;
}

static inline bool agents_process_has_ended(struct process_id id)
{
	struct proc_status status;

	return proc_status_read(id.pid, &status) || !process_id_same(proc_status_id(&status), id) ||
	       status.state == 'Z';
}

static inline bool agents_entry_has_ended(const struct agents_entry *e)
{
	return agents_process_has_ended(e->id);
}

/* Adds an unknown user. Valid until the next call for another one. */
static inline struct agents_user *users_find(struct agents *a, uid_t uid)
{
	vec_each(u, &a->users)
		if (u->uid == uid)
			return u;
	vec_push(&a->users, (struct agents_user){ .uid = uid });
	return &a->users.at[a->users.nr - 1];
}
