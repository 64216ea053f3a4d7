/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the agents: for agents.c, which changes it, and agents_ask.c, which tells it. */
#pragma once

#include "base/dict.h"
#include "base/vec.h"
#include "jvm/agent_ring.h"
#include "jvm/agents.h"
#include "jvm/inject.h"
#include "proc/status.h"

struct agents_entry {
	pid_t pid;
	u64 start_ns, program_ns;
	enum agent_state state;
	char *reason; /* NULL if none */
	int tries;
	u64 next_ns; /* not tried before */
	bool was_signalled;
	bool is_nested; /* in a pid namespace of its own */

	struct injection *injection; /* NULL: none runs */
	struct inject_order order;   /* the one that runs or ran */
	u64 injected_ns, attach_ns;
	struct agent_ring *ring; /* NULL: no session */
	u64 replayed_ns, gone_ns;
	u64 ring_bytes, nr_lost; /* of a ring that was closed */
	bool was_untold;         /* agents_next_untold gave it */
	bool drops_code;         /* if it had to tell of methods' calls */
	struct codemap *map;
	struct thread_names *threads;
	char nonce[WIRE_NONCE_LEN + 1];
	char loaded_path[DELIVERY_PATH_MAX];
};

struct agents {
	enum agent_mode mode;
	enum delivery_way way;
	bool is_eager;
	struct agent_hooks hooks;
	char *path;
	struct jvms *jvms; /* the caller's; NULL: their tables are not asked */
	VEC(struct agents_entry) entries;
	struct dict by_process; /* agents_key -> index in entries */
	VEC(struct injection *) cleaners;
	u64 looked_ns;
	u32 nr_gone, nr_gone_attached, nr_gone_refused; /* entries that were dropped */
};

static inline u64 agents_key(pid_t pid, u64 start_ns)
{
	return hash_u64((u64)pid ^ hash_u64(start_ns / PROC_TICK_NS));
}

static inline struct agents_entry *agents_find(const struct agents *a, pid_t pid, u64 start_ns)
{
	const u64 *index = dict_find(&a->by_process, agents_key(pid, start_ns));

	return index ? &a->entries.at[*index] : NULL;
}
