/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the fleet a profile stands for. */
#include "fleet/controller/coverage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "fleet/controller/gather.h"
#include "fleet/controller/node_table.h"
#include "profile/profile.h"

#define LOST_PERCENT  1
#define SHORT_PERCENT 90
#define UNLIKE        10

/* Notes that are being added; `err` keeps the first negative errno. */
struct notes {
	struct spool *s;
	int err;
};

static void add(struct notes *n, const char *key, const char *text, u64 value)
{
	n->err = n->err ?: spool_add_note(n->s, key, text, value);
}

/*
 * Counts missing nodes. A node that failed had been chosen with chance p, so it stands for 1 / p
 * nodes.
 */
static void count_missing(const struct controller_state *c, struct estimate_sample *s)
{
	u32 nr_heard = (u32)c->nodes->nodes.nr;

	vec_each(n, &c->nodes->nodes) {
		if ((*n)->state == GATHER_DELIVERED)
			continue;
		s->nr_missing++;
		s->missing += 1 / choice_chance(c->choice, (*n)->busy_ppm);
	}
	if (nr_heard >= c->nr_chosen)
		return;
	s->nr_missing += (u32)c->nr_chosen - nr_heard;
	s->missing += ((double)c->nr_chosen - nr_heard) / c->p;
}

void coverage_sample(const struct controller_state *c, struct estimate_sample *s)
{
	struct estimate_node *nodes = xcalloc(c->nr_totals + 1, sizeof(nodes[0]));

	*s = (struct estimate_sample){ .nodes = nodes,
				       .unknown_chance = choice_chance(c->choice, 0) };
	for (size_t i = 0; i < c->nr_totals; i++) {
		const struct merge_total *t = &c->totals[i];
		const struct gather_node *n = gather_find(c->nodes, t->node);
		if (!n || n->state != GATHER_DELIVERED)
			continue;
		double weight = (double)gather_weight_ppm(c->nodes, n) / 1e6;
		nodes[s->nr++] =
			(struct estimate_node){ .index = (u32)i,
						.value = (double)t->raw * weight,
						.size = choice_size(c->choice, n->busy_ppm),
						.chance = choice_chance(c->choice, n->busy_ppm),
						.is_unknown = !n->busy_ppm };
	}
	count_missing(c, s);
}

struct estimate coverage_estimate(const struct controller_state *c)
{
	struct estimate_sample s;

	coverage_sample(c, &s);
	struct estimate e = estimate_total(&c->choice->fleet, &s);
	free((void *)s.nodes);
	return e;
}

double coverage_factor(const struct controller_state *c)
{
	struct estimate_sample s;

	coverage_sample(c, &s);
	double factor = estimate_factor(&c->choice->fleet, &s);
	free((void *)s.nodes);
	return factor;
}

char *coverage_doubt(const struct controller_state *c, const struct estimate *e)
{
	switch (e->fault) {
	case ESTIMATE_HAS_INTERVAL:
		return NULL;
	case ESTIMATE_FEW:
		return xasprintf("an interval takes %d nodes", ESTIMATE_NODES);
	case ESTIMATE_MISSING:
		return xasprintf("no interval: more than %d %% of the chosen nodes are missing; "
				 "the total lies between %.0f, if they had no load, and %.0f, if "
				 "each had that of the heaviest node",
				 ESTIMATE_MISSING_PCT, e->least, e->most);
	case ESTIMATE_UNKNOWN:
		return xasprintf(
			"no interval: %s",
			c->choice->is_equal
				? "nodes were chosen with equal chances, as their use of CPUs is "
				  "unknown"
				: "more than 10 % of the nodes do not know their use of CPUs");
	}
	return NULL;
}

static void add_estimate(struct notes *n, const struct controller_state *c)
{
	if (!c->is_estimate)
		return;
	struct estimate e = coverage_estimate(c);
	add(n, "fleet-p",
	    c->choice->is_equal
		    ? "of a million nodes were chosen; values are estimates for all that match"
		    : "of a million nodes were chosen, by their use of CPUs; values are estimates "
		      "for all that match",
	    (u64)(c->p * 1e6 + 0.5));
	auto_free char *doubt = coverage_doubt(c, &e);
	if (doubt) {
		auto_free char *text = xasprintf("nodes delivered; %s", doubt);
		add(n, "fleet-few", text, gather_count(c->nodes, GATHER_DELIVERED));
		return;
	}
	add(n, "fleet-estimate", "estimated in all nodes that match", (u64)e.total);
	add(n, "fleet-low", "at least, with 95 % confidence", (u64)e.low);
	add(n, "fleet-high", "at most, with 95 % confidence", (u64)e.high);
}

/*
 * A node that states a small size and records much has a large weight: it lies, or its load has
 * changed. The interval is wide then; the node's name says why.
 */
static void add_unlike(struct notes *n, const struct controller_state *c)
{
	double ratio = coverage_estimate(c).total / c->choice->fleet.size;
	const struct merge_total *most = NULL;
	u64 nr = 0;

	for (size_t i = 0; i < c->nr_totals && !c->choice->is_equal; i++) {
		const struct merge_total *t = &c->totals[i];
		const struct gather_node *node = gather_find(c->nodes, t->node);
		if (!node || t->err ||
		    (double)t->raw <= UNLIKE * ratio * choice_size(c->choice, node->busy_ppm))
			continue;
		nr++;
		most = !most || t->value > most->value ? t : most;
	}
	if (!most)
		return;
	auto_free char *text = xasprintf("nodes recorded more than %d times what their use of CPUs "
					 "in the census makes likely; most, %s",
					 UNLIKE, most->node);
	add(n, NOTE_INCOMPLETE "fleet-unlike", text, nr);
}

/* Adds the reasons for refusals: for each verdict the sentence of the first node that has it. */
static void add_reasons(struct notes *n, const struct controller_state *c)
{
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
}

/*
 * Adds a note whose text is `sentence` without its number, which becomes the note's value. Takes
 * the sentence over.
 */
static void add_named(struct notes *n, const char *key, char *text)
{
	if (text)
		add(n, key, strchr(text, ' ') + 1, strtoull(text, NULL, 10));
	free(text);
}

/* Nodes that could not take part. */
static void add_others(struct notes *n, const struct gather *census, const struct gather *nodes)
{
	add_named(n, NOTE_INCOMPLETE "fleet-silent", census_unanswered_text(nodes));
	add_named(n, NOTE_INCOMPLETE "fleet-foreign", census_foreign_text(census));
	add_named(n, NOTE_INCOMPLETE "fleet-gone", census_silent_text(census));
	add_named(n, NOTE_INCOMPLETE "fleet-late", census_late_text(nodes));
}

static double lost_percent(const struct gather_node *node)
{
	return node->lost ? 100.0 * (double)node->lost / (double)(node->samples + node->lost) : 0;
}

/*
 * Names the nodes that lost many samples: their sums are too small. Smaller losses are normal on
 * busy machines.
 */
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

/*
 * Names the nodes that recorded for a shorter time: their sums are too small. In an estimate they
 * are scaled by the time.
 */
static void add_short(struct notes *n, const struct controller_state *c)
{
	u64 nr = 0, asked_ms = c->nodes->asked_ms;

	vec_each(at, &c->nodes->nodes)
		nr += (*at)->state == GATHER_DELIVERED && (*at)->covered_ms &&
		      (*at)->covered_ms * 100 < asked_ms * SHORT_PERCENT;
	auto_free char *text =
		xasprintf("nodes recorded less than %d %% of the time%s", SHORT_PERCENT,
			  c->is_estimate ? "; their values are scaled by it" : "");
	if (nr)
		add(n, NOTE_INCOMPLETE "fleet-short", text, nr);
}

static int by_value(const void *a, const void *b)
{
	u64 x = (*(const struct merge_total *const *)a)->raw;
	u64 y = (*(const struct merge_total *const *)b)->raw;

	return (x < y) - (x > y);
}

static void add_node(struct notes *n, const struct controller_state *c, const struct merge_total *t)
{
	const struct gather_node *node = gather_find(c->nodes, t->node);
	auto_free char *key = xasprintf("fleet-node/%s", t->node);
	auto_str struct str text = { 0 };

	str_add(&text, node ? node->labels : "");
	if (node && *node->why)
		str_addf(&text, "; %s", node->why);
	if (c->table && t->raw) {
		str_add(&text, "; most in ");
		node_table_name(c->table, (u32)(t - c->totals), &text);
	}
	if (!t->err)
		add(n, key, text.at, t->raw);
}

static void add_nodes(struct notes *n, const struct controller_state *c)
{
	const struct merge_total **all = xcalloc(c->nr_totals + 1, sizeof(all[0]));

	for (size_t i = 0; i < c->nr_totals; i++)
		all[i] = &c->totals[i];
	qsort(all, c->nr_totals, sizeof(all[0]), by_value);
	for (size_t i = 0; i < c->nr_totals && i < COVERAGE_NODES; i++)
		add_node(n, c, all[i]);
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
	add_short(&n, c);
	if (c->is_estimate)
		add_unlike(&n, c);
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
