/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the requests of a node of the fleet end: stopped, too dear for the node, or too late. Part of
 * fleet/member.h.
 */
#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "fleet/member_state.h"

static void stop(struct member *n, struct run *r, const char *why)
{
	if (*r->stopped)
		return;
	copy_text(r->stopped, sizeof(r->stopped), why);
	if (r->request.want == WANT_RECORDING)
		n->host->stop(n->host->ctx, r->number);
}

void member_take_stop(struct member *n, const struct fleet_control *c)
{
	for (size_t i = 0; i < n->runs.nr; i++) {
		struct run *r = n->runs.at[i];
		if (r->state == RUN_DONE ||
		    (c->has_id && memcmp(r->request.id, c->id, sizeof(c->id)) != 0))
			continue;
		stop(n, r, "It was stopped.");
	}
}

void member_take_alive(struct member *n, const struct fleet_control *c)
{
	struct run *r = c->has_id ? member_find(n, c->id) : NULL;

	if (!r)
		return;
	r->heard_ns = member_now_ns(n);
	if (r->state == RUN_DONE) /* the controller may have missed it */
		member_say_done(n, r, &r->said);
}

/* The node suffers; NULL: it does not. */
static const char *strain_of(const struct member_facts *f)
{
	if (f->cpu_ppm > MEMBER_CPU_PPM)
		return "The recorder used more than 5 % of a CPU.";
	if (f->pressure_pct > MEMBER_PRESSURE)
		return "Processes of the node waited for CPUs for more than 60 % of the time.";
	return NULL;
}

static bool loses_much(struct member *n, const struct run *r)
{
	u64 samples = 0, lost = 0;

	return n->host->progress(n->host->ctx, r->number, &samples, &lost) &&
	       samples + lost >= MEMBER_LOST_LEAST && lost * 100 > (samples + lost) * MEMBER_LOST;
}

/* The reason for which a recording ends now; NULL: it goes on. */
static const char *fault_of(struct member *n, struct run *r, const struct member_facts *f)
{
	const char *strain = strain_of(f);

	if (!strain)
		r->well_ns = member_now_ns(n);
	if (n->host->is_disabled(n->host->ctx))
		return "Somebody switched the node off.";
	if (n->policy.is_off)
		return "The fleet's policy disables all nodes.";
	if (member_now_ns(n) - r->heard_ns > MEMBER_SILENT_S * NS_PER_SEC)
		return "The controller has been silent for 60 s.";
	if (r->request.want != WANT_RECORDING)
		return NULL;
	if (strain && member_now_ns(n) - r->well_ns > MEMBER_STRAIN_S * NS_PER_SEC)
		return strain;
	return loses_much(n, r) ? "More than 20 % of the samples were lost." : NULL;
}

static void fail(struct member *n, struct run *r)
{
	const struct member_result late = { .verdict = VERDICT_FAILED,
					    .why = "The result took too long." };

	member_say_done(n, r, &late);
	n->host->stop(n->host->ctx, r->number);
	r->is_dropped = true;
}

void member_tick(struct member *n)
{
	struct member_facts f = { 0 };

	if (n->runs.nr)
		n->host->look(n->host->ctx, &f);
	for (size_t i = n->runs.nr; i-- > 0;) {
		struct run *r = n->runs.at[i];
		u64 since = (r->state == RUN_DONE ? r->done_ns : r->begun_ns);
		u64 length_s = r->request.want == WANT_RECORDING ? r->request.duration_s : 0;
		if (r->state == RUN_DONE) {
			if (member_now_ns(n) - since > MEMBER_RESULT_S * NS_PER_SEC)
				member_drop(n, r);
			continue;
		}
		const char *why = fault_of(n, r, &f);
		if (why)
			stop(n, r, why);
		if (!r->is_dropped && r->state == RUN_RUNS &&
		    member_now_ns(n) - since > (length_s + MEMBER_ENDING_S) * NS_PER_SEC)
			fail(n, r);
	}
}
