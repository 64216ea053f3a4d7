/* SPDX-License-Identifier: Apache-2.0 */
/* Which events of a recording lost samples, and why. */
#include "capture/losses.h"

#include "base/alloc.h"
#include "base/auto.h"
#include "capture/events/event_kind.h"
#include "capture/session_state.h"

struct reason {
	const char *key;
	u32 stat;        /* the counter of all events together, with the sentence */
	bool takes_ring; /* a larger ring helps as well */
};

static const struct reason reasons[NR_EVENT_COUNTS] = {
	[EVENT_RING_FULL] = { "ring_full", STAT_RING_FULL, true },
	[EVENT_THROTTLED] = { "throttled", STAT_THROTTLED },
	[EVENT_BUSY] = { "busy", STAT_BUSY },
	[EVENT_UNTIMED] = { "untimed", STAT_WAIT_LOST },
};

static void each(const struct session *s, bool is_sparse, loss_fn visit, void *ctx)
{
	for (u32 event = 0; event < s->options.events->list.nr; event++) {
		const struct event *e = &s->options.events->list.at[event];
		u64 counts[NR_EVENT_COUNTS];

		programs_event_counts(s->bpf, event, counts);
		for (u32 i = 0; i < NR_EVENT_COUNTS; i++) {
			if (!counts[i] || is_sparse != (i == EVENT_SPARSE))
				continue;
			const struct reason *r = &reasons[i];
			auto_free char *remedy =
				xasprintf("take a %s%s", e->kind->sparser,
					  r->takes_ring ? " or a larger --ring" : "");
			const char *why = is_sparse ? NULL : counter_cause(counter_of(r->stat));
			const struct loss loss = { e->name, r->key, why, remedy, counts[i] };
			visit(&loss, ctx);
		}
	}
}

void losses_each(const struct session *s, loss_fn visit, void *ctx)
{
	each(s, false, visit, ctx);
}

void losses_each_sparse(const struct session *s, loss_fn visit, void *ctx)
{
	each(s, true, visit, ctx);
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

void losses_note(struct session *s)
{
	each(s, false, note_lost, s->profile);
	each(s, true, note_sparse, s->profile);
}
