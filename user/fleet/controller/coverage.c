/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the fleet a profile stands for. */
#include "fleet/controller/coverage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "fleet/controller/gather.h"
#include "profile/profile.h"

#define LOST_PERCENT 1

/* Negative errno is kept in *err. */
struct notes {
	struct spool *s;
	int err;
};

static void add(struct notes *n, const char *key, const char *text, u64 value)
{
	n->err = n->err ?: spool_add_note(n->s, key, text, value);
}

struct estimate coverage_estimate(const struct controller_state *c)
{
	double *values = xcalloc(c->nr_totals + c->nr_chosen + 1, sizeof(values[0]));
	u32 nr = 0;

	/* As in the profile: weighted by the recorded time, and 0 for nodes that did not deliver.
	 */
	for (size_t i = 0; i < c->nr_totals; i++)
		if (!c->totals[i].err)
			values[nr++] = (double)c->totals[i].value * (c->is_estimate ? c->p : 1);
	u32 nr_sample = nr < c->nr_chosen ? (u32)c->nr_chosen : nr;
	struct estimate e =
		estimate_total(values, nr_sample, c->is_estimate ? (u32)c->nr_matched : nr_sample);
	e.has_interval = e.has_interval && nr >= ESTIMATE_NODES;
	free(values);
	return e;
}

static void add_estimate(struct notes *n, const struct controller_state *c)
{
	if (!c->is_estimate)
		return;
	struct estimate e = coverage_estimate(c);
	add(n, "fleet-p", "of a million nodes were chosen; values are estimates for all that match",
	    (u64)(c->p * 1e6 + 0.5));
	if (!e.has_interval) {
		add(n, "fleet-few", "nodes are too few for an interval; it takes 30",
		    gather_count(c->nodes, GATHER_DELIVERED));
		return;
	}
	add(n, "fleet-estimate", "estimated in all nodes that match", (u64)e.total);
	add(n, "fleet-low", "at least, with 95 % confidence", (u64)e.low);
	add(n, "fleet-high", "at most, with 95 % confidence", (u64)e.high);
}

/* The sentence of the first node with that verdict stands for all. */
static void add_reasons(struct notes *n, const struct controller_state *c)
{
	size_t heard = c->nodes->nodes.nr;

	for (int v = VERDICT_BUDGET; v < NR_VERDICTS; v++) {
		auto_free char *key = xasprintf(NOTE_INCOMPLETE "fleet-%d", v);
		const char *why = NULL;
		u64 nr = 0;
		vec_each(at, &c->nodes->nodes) {
			if ((*at)->verdict != (enum verdict)v)
				continue;
			why = why && *why ? why : (*at)->why;
			nr++;
		}
		auto_free char *text =
			xasprintf("nodes left out: %s. %.300s", verdict_name(v), why ?: "");
		if (nr)
			add(n, key, text, nr);
	}
	if (heard < c->nr_chosen)
		add(n, NOTE_INCOMPLETE "fleet-silent", "nodes left out: they did not answer",
		    c->nr_chosen - heard);
}

/* Nodes that could not take part. */
static void add_others(struct notes *n, const struct gather *census, const struct gather *nodes)
{
	auto_free char *foreign = census_foreign_text(census);
	auto_free char *silent = census_silent_text(census);
	auto_free char *late = census_late_text(nodes);

	/* A note has its number apart. */
	if (foreign)
		add(n, NOTE_INCOMPLETE "fleet-foreign", strchr(foreign, ' ') + 1,
		    census->foreign.all.nr);
	if (silent)
		add(n, NOTE_INCOMPLETE "fleet-gone", strchr(silent, ' ') + 1,
		    census->silent.all.nr);
	if (late)
		add(n, NOTE_INCOMPLETE "fleet-late", strchr(late, ' ') + 1, nodes->late.all.nr);
}

static double lost_percent(const struct gather_node *node)
{
	return node->lost ? 100.0 * (double)node->lost / (double)(node->samples + node->lost) : 0;
}

/* Sums of these nodes are too small. Smaller losses are those of any busy machine. */
static void add_losses(struct notes *n, const struct gather *nodes)
{
	const struct gather_node *worst = NULL;
	u64 nr = 0;

	vec_each(at, &nodes->nodes) {
		if ((*at)->state != GATHER_DELIVERED || lost_percent(*at) <= LOST_PERCENT)
			continue;
		nr++;
		if (!worst || lost_percent(*at) > lost_percent(worst))
			worst = *at;
	}
	if (!worst)
		return;
	auto_free char *text = xasprintf("nodes lost more than %d %% of their samples; most, %.1f "
					 "%%, of %s, whose own profile has the reasons",
					 LOST_PERCENT, lost_percent(worst), worst->name);
	add(n, NOTE_INCOMPLETE "fleet-lost", text, nr);
}

static int by_value(const void *a, const void *b)
{
	u64 x = ((const struct merge_total *)a)->value, y = ((const struct merge_total *)b)->value;

	return (x < y) - (x > y);
}

static void add_nodes(struct notes *n, const struct controller_state *c)
{
	if (!c->nr_totals)
		return;
	struct merge_total *all = xmemdup(c->totals, c->nr_totals * sizeof(all[0]));
	qsort(all, c->nr_totals, sizeof(all[0]), by_value);
	for (size_t i = 0; i < c->nr_totals && i < COVERAGE_NODES; i++) {
		const struct gather_node *node = gather_find(c->nodes, all[i].node);
		auto_free char *key = xasprintf("fleet-node/%s", all[i].node);
		auto_free char *text =
			xasprintf("%s%s%s", node ? node->labels : "",
				  node && *node->why ? "; " : "", node ? node->why : "");
		if (!all[i].err)
			add(n, key, text, all[i].raw);
	}
	free(all);
}

int coverage_add(struct spool *s, const struct controller_state *c, const char *selector)
{
	struct notes n = { .s = s };
	size_t delivered = gather_count(c->nodes, GATHER_DELIVERED);
	auto_free char *title = xasprintf("%s, %zu %s", *selector ? selector : "fleet", delivered,
					  delivered == 1 ? "node" : "nodes");

	add(&n, "", title, 0);
	add(&n, "fleet-asked", "nodes of the fleet answered", c->nr_census);
	add(&n, "fleet-matched", "nodes matched the selector", c->nr_matched);
	add(&n, "fleet-chosen", "nodes were asked to take part", c->nr_chosen);
	add(&n, "fleet-accepted", "nodes accepted",
	    c->nodes->nodes.nr - gather_count(c->nodes, GATHER_REFUSED));
	add(&n, "fleet-delivered", "nodes delivered their profile", delivered);
	add_reasons(&n, c);
	add_others(&n, c->census, c->nodes);
	add_losses(&n, c->nodes);
	if (c->nodes->nr_twins)
		add(&n, NOTE_INCOMPLETE "fleet-twins",
		    "answers came from a second node of the same name, which does not count",
		    c->nodes->nr_twins);
	if (c->stopped)
		add(&n, NOTE_INCOMPLETE "fleet-waves", c->stopped, c->nr_waves - c->wave - 1);
	add_estimate(&n, c);
	add_nodes(&n, c);
	return n.err;
}
