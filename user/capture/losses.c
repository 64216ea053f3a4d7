/* SPDX-License-Identifier: Apache-2.0 */
/* Which events of a cut lost samples, and why. */
#include "capture/losses.h"

#include "base/alloc.h"
#include "base/auto.h"
#include "capture/events/event_kind.h"
#include "capture/recording_state.h"

struct reason {
	const char *key;
	u32 stat;        /* the counter of all events together; it has the sentence */
	bool takes_ring; /* a larger ring is also a remedy, as are fewer samples */
	bool is_missed;  /* no program of ours ran for these samples: use the counter's remedy */
};

static const struct reason reasons[NR_EVENT_COUNTS] = {
	[EVENT_RING_FULL] = { "ring_full", STAT_RING_FULL, true },
	[EVENT_RING_LOCKED] = { "ring_locked", STAT_RING_LOCKED },
	[EVENT_THROTTLED] = { "throttled", STAT_THROTTLED },
	[EVENT_BUSY] = { "busy", STAT_BUSY },
	[EVENT_SKIPPED] = { "skipped", STAT_SKIPPED, .is_missed = true },
	[EVENT_LATE] = { "late", STAT_LATE, .is_missed = true },
	[EVENT_DECLINED] = { "declined", STAT_DECLINED, .is_missed = true },
	[EVENT_UNTIMED] = { "untimed", STAT_WAIT_LOST },
};

static char *remedy_of(const struct event *e, const struct reason *reason)
{
	if (reason->is_missed)
		return xstrdup(counter_of(reason->stat)->remedy);
	return xasprintf("take a %s%s", e->kind->sparser,
			 reason->takes_ring ? " or a larger --ring" : "");
}

static void each(const struct recording *r, const struct cut *c, bool is_sparse, loss_fn visit,
		 void *ctx)
{
	for (u32 event = 0; event < r->options.events->list.nr; event++) {
		const struct event *e = &r->options.events->list.at[event];
		const u64 *counts = c->losses.events[event];

		for (u32 i = 0; i < NR_EVENT_COUNTS; i++) {
			if (!counts[i] || i == EVENT_DUE || is_sparse != (i == EVENT_SPARSE))
				continue;
			const struct reason *reason = &reasons[i];
			auto_free char *remedy = remedy_of(e, reason);
			const struct loss loss = {
				.event = e->name,
				.key = reason->key,
				.why = is_sparse ? NULL : counter_cause(counter_of(reason->stat)),
				.remedy = remedy,
				.nr = counts[i],
				.nr_due = reason->is_missed ? counts[EVENT_DUE] : 0,
			};
			visit(&loss, ctx);
		}
	}
}

void losses_each(const struct recording *r, const struct cut *c, loss_fn visit, void *ctx)
{
	each(r, c, false, visit, ctx);
}

void losses_each_sparse(const struct recording *r, const struct cut *c, loss_fn visit, void *ctx)
{
	each(r, c, true, visit, ctx);
}

static void note_lost(const struct loss *l, void *profile)
{
	auto_free char *key = xasprintf("lost_%s_%s", l->key, l->event);
	auto_free char *text =
		xasprintf("samples of %s lost, because %s; %s", l->event, l->why, l->remedy);

	profile_note(profile, key, text, l->nr);
}

static void note_sparse(const struct loss *l, void *profile)
{
	auto_free char *key = xasprintf("sparse_%s", l->event);
	auto_free char *text = xasprintf(
		"samples of %s that stand for more occurrences, because there were too many",
		l->event);

	profile_note(profile, key, text, l->nr);
}

void losses_note(const struct recording *r, struct cut *c)
{
	each(r, c, false, note_lost, c->profile);
	each(r, c, true, note_sparse, c->profile);
}
