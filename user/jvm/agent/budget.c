/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory and time the reports of agents may take. */
#include "jvm/agent/budget.h"

#include "base/time.h"
#include "jvm/agent/agents_entry.h"
#include "jvm/hotspot/thread_names.h"

#define TOTAL_BYTES AGENTS_BYTES
#define USER_BYTES  (TOTAL_BYTES / 4)
#define USER_NS     (20 * NS_PER_MS) /* of a poll */
/* time for reading reports of a user whose memory is used up */
#define HOG_NS (2 * NS_PER_MS)

static u64 bytes_of(const struct agents_entry *e)
{
	return (e->map ? codemap_size(e->map).bytes : 0) +
	       (e->threads ? thread_names_bytes(e->threads) : 0) +
	       (e->ring ? agent_ring_held_bytes(e->ring) : 0);
}

void budget_begin(struct agents *a)
{
	a->bytes = 0;
	vec_each(u, &a->users)
		u->bytes = u->read_ns = 0;
	vec_each(e, &a->entries) {
		e->bytes = bytes_of(e);
		users_find(a, e->uid)->bytes += e->bytes;
		a->bytes += e->bytes;
	}
}

static u64 room_of(const struct agents *a, const struct agents_user *u)
{
	u64 left = u->bytes < USER_BYTES ? USER_BYTES - u->bytes : 0;
	u64 left_in_all = a->bytes < TOTAL_BYTES ? TOTAL_BYTES - a->bytes : 0;

	return left < left_in_all ? left : left_in_all;
}

bool budget_allow(struct agents *a, struct agents_entry *e)
{
	const struct agents_user *u = users_find(a, e->uid);
	u64 room = room_of(a, u), max_ns = room ? USER_NS : HOG_NS;

	if (u->read_ns >= max_ns)
		return false;
	agent_ring_limit(e->ring, max_ns - u->read_ns, agent_ring_held_bytes(e->ring) + room);
	codemap_limit(e->map, codemap_size(e->map).bytes + room);
	thread_names_limit(e->threads, thread_names_bytes(e->threads) + room);
	return true;
}

void budget_charge(struct agents *a, struct agents_entry *e, u64 began_ns)
{
	struct agents_user *u = users_find(a, e->uid);
	u64 bytes = bytes_of(e);

	u->read_ns += time_mono_ns() - began_ns;
	u->bytes += bytes - e->bytes;
	a->bytes += bytes - e->bytes;
	e->bytes = bytes;
}

bool budget_is_short(struct agents *a, const struct agents_entry *e)
{
	return users_find(a, e->uid)->bytes > USER_BYTES / 2 || a->bytes > TOTAL_BYTES / 2;
}
