/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for Java monitors that still last when recording ends. */
#include "capture/events/monitorwaits.h"

#include "base/time.h"

#define LOOK_NS (10 * NS_PER_MS) /* to check a monitor takes less, except while no CPU is free */

u64 monitorwaits_since(const struct monitorwaits *all, u32 tid, u64 since_ns)
{
	const u64 *until = dict_find(&all->until, tid), *since = dict_find(&all->since, tid);

	return until && since && since_ns <= *until + LOOK_NS && *since < since_ns ? *since
										   : since_ns;
}

void monitorwaits_add(struct monitorwaits *all, u32 tid, u64 since_ns, u64 until_ns)
{
	u64 since = monitorwaits_since(all, tid, since_ns);

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
