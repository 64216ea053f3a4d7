/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for Java monitors that still last when recording ends. */
#include "capture/events/monitorwaits.h"

#include "base/time.h"

/* a full table drops the waits not seen for a minute, or else all waits */
#define WAITS_MAX 65536
#define OLD_NS    (60 * NS_PER_SEC)
/* longest run of a thread that only checks its monitor, while a CPU is free */
#define LOOK_NS (10 * NS_PER_MS)

u64 monitorwaits_since(const struct monitorwaits *all, u32 tid, u64 since_ns)
{
	const u64 *until = dict_find(&all->until, tid), *since = dict_find(&all->since, tid);

	return until && since && since_ns <= *until + LOOK_NS && *since < since_ns ? *since
										   : since_ns;
}

/* Drops old waits: a thread that ended while waiting leaves an entry behind. */
static void make_room(struct monitorwaits *all, u64 now_ns)
{
	struct dict since = { 0 }, until = { 0 };

	dict_each(slot, &all->until)
		if (slot->value + OLD_NS > now_ns)
			*dict_add(&until, slot->key) = slot->value;
	if (until.nr >= WAITS_MAX / 2)
		dict_fini(&until);
	dict_each(slot, &all->since)
		if (dict_find(&until, slot->key))
			*dict_add(&since, slot->key) = slot->value;
	monitorwaits_fini(all);
	*all = (struct monitorwaits){ since, until };
}

void monitorwaits_add(struct monitorwaits *all, u32 tid, u64 since_ns, u64 until_ns)
{
	u64 since = monitorwaits_since(all, tid, since_ns);

	if (all->until.nr >= WAITS_MAX)
		make_room(all, until_ns);
	*dict_add(&all->since, tid) = since;
	*dict_add(&all->until, tid) = until_ns;
}

void monitorwaits_end(struct monitorwaits *all, u32 tid)
{
	dict_remove(&all->since, tid);
	dict_remove(&all->until, tid);
}

void monitorwaits_fini(struct monitorwaits *all)
{
	dict_fini(&all->since);
	dict_fini(&all->until);
}
