/* SPDX-License-Identifier: Apache-2.0 */
/* A fleet's controller as JSON. */
#include "web/fleet_json.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "fleet/census_text.h"
#include "fleet/coverage.h"

static const char *const phases[] = {
	[CONTROLLER_CENSUS] = "census",   [CONTROLLER_CHOICE] = "census",
	[CONTROLLER_RECORDS] = "records", [CONTROLLER_WATCHES] = "watches",
	[CONTROLLER_FETCHES] = "fetches", [CONTROLLER_MERGES] = "merges",
	[CONTROLLER_ENDED] = "ended",
};

static const char *const states[NR_GATHER_STATES] = {
	[GATHER_REFUSED] = "refused",     [GATHER_WORKS] = "works",   [GATHER_READY] = "ready",
	[GATHER_DELIVERED] = "delivered", [GATHER_FAILED] = "failed",
};

/* A node with the value of its result. */
struct row {
	const struct gather_node *node;
	u64 value;
};

static int heaviest_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->value != y->value)
		return (x->value < y->value) - (x->value > y->value);
	return strcmp(x->node->name, y->node->name);
}

/* The caller frees the rows. */
static struct row *sort_nodes(const struct controller_state *s, u64 *total)
{
	const struct gather *g = s->nodes;
	struct row *rows = xcalloc(g->nodes.nr + 1, sizeof(rows[0]));
	struct value {
		const char *node;
		u64 value;
		UT_hash_handle hh;
	} *values = NULL, *all = xcalloc(s->nr_totals + 1, sizeof(all[0])), *found;

	*total = 0;
	for (size_t i = 0; i < s->nr_totals; i++) {
		all[i].node = s->totals[i].node;
		all[i].value = s->totals[i].err ? 0 : s->totals[i].value;
		*total += all[i].value;
		HASH_ADD_KEYPTR(hh, values, all[i].node, strlen(all[i].node), &all[i]);
	}
	for (size_t i = 0; i < g->nodes.nr; i++) {
		rows[i].node = g->nodes.at[i];
		HASH_FIND_STR(values, rows[i].node->name, found);
		rows[i].value = found ? found->value : 0;
	}
	HASH_CLEAR(hh, values);
	free(all);
	qsort(rows, g->nodes.nr, sizeof(rows[0]), heaviest_first);
	return rows;
}

static json_t *node_json(const struct row *r)
{
	const struct gather_node *n = r->node;
	const char *labels = strchr(n->labels, ',');

	return json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:i}", "name", n->name, "state",
			 states[n->state], "verdict", n->verdict ? verdict_name(n->verdict) : "",
			 "why", n->why, "labels", labels ? labels + 1 : "", "url", n->url, "value",
			 (json_int_t)r->value, "samples", (json_int_t)n->samples, "lost",
			 (json_int_t)n->lost, "profile", (json_int_t)n->profile, "died",
			 (int)n->nr_died);
}

static json_t *estimate_json(const struct controller_state *s)
{
	if (!s->is_estimate || s->phase != CONTROLLER_ENDED || s->error)
		return json_null();
	struct estimate e = coverage_estimate(s);
	return json_pack("{s:f,s:f,s:f,s:b,s:f}", "total", e.total, "low", e.low, "high", e.high,
			 "has_interval", e.has_interval, "p", s->p);
}

static json_t *counts_json(const struct controller_state *s)
{
	size_t heard = s->nodes->nodes.nr;
	u32 c[NR_GATHER_STATES];

	for (int i = 0; i < NR_GATHER_STATES; i++)
		c[i] = (u32)gather_count(s->nodes, (enum gather_state)i);
	return json_pack("{s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i}", "answered", (int)s->nr_census,
			 "matched", (int)s->nr_matched, "chosen", (int)s->nr_chosen, "accepted",
			 (int)(heard - c[GATHER_REFUSED]), "works", (int)c[GATHER_WORKS], "ready",
			 (int)c[GATHER_READY], "delivered", (int)c[GATHER_DELIVERED], "refused",
			 (int)c[GATHER_REFUSED], "failed", (int)c[GATHER_FAILED]);
}

json_t *fleet_json_request(const struct controller *c)
{
	const struct controller_state s = controller_view(c);
	json_t *nodes = json_array();
	u64 total = 0;
	auto_free struct row *rows = sort_nodes(&s, &total);

	for (size_t i = 0; i < s.nodes->nodes.nr && i < FLEET_JSON_NODES; i++)
		json_array_append_new(nodes, node_json(&rows[i]));
	return json_pack("{s:s,s:i,s:i,s:o,s:o,s:s,s:s,s:I,s:i,s:o}", "phase", phases[s.phase],
			 "wave", (int)s.wave + 1, "nr_waves", (int)s.nr_waves, "counts",
			 counts_json(&s), "estimate", estimate_json(&s), "stopped", s.stopped ?: "",
			 "error", s.error ?: "", "total", (json_int_t)total, "nr_nodes",
			 (int)s.nodes->nodes.nr, "nodes", nodes);
}

struct service_count {
	char *name;
	u32 nr;
	UT_hash_handle hh;
};

static void count_service(struct service_count **all, const char *name, size_t len)
{
	struct service_count *s;

	HASH_FIND(hh, *all, name, len, s);
	if (!s) {
		s = xcalloc(1, sizeof(*s));
		s->name = xasprintf("%.*s", (int)len, name);
		HASH_ADD_KEYPTR(hh, *all, s->name, len, s);
	}
	s->nr++;
}

static int most_first(struct service_count *a, struct service_count *b)
{
	return a->nr != b->nr ? (a->nr < b->nr) - (a->nr > b->nr) : strcmp(a->name, b->name);
}

static json_t *services_json(const struct gather *g)
{
	struct service_count *all = NULL, *s, *next;
	json_t *list = json_array();

	vec_each(n, &g->nodes)
		for (const char *at = (*n)->services; *at;) {
			size_t len = strcspn(at, "\n");
			count_service(&all, at, len);
			at += len + (at[len] != '\0');
		}
	HASH_SORT(all, most_first);
	HASH_ITER(hh, all, s, next) {
		if (json_array_size(list) < FLEET_JSON_LIST)
			json_array_append_new(
				list, json_pack("{s:s,s:i}", "name", s->name, "nodes", (int)s->nr));
		HASH_DEL(all, s);
		free(s->name);
		free(s);
	}
	return list;
}

static json_t *census_node_json(const struct gather_node *n)
{
	const char *labels = strchr(n->labels, ',');
	json_t *services = json_array();

	for (const char *at = n->services; *at;) {
		size_t len = strcspn(at, "\n");
		json_array_append_new(services, json_stringn(at, len));
		at += len + (at[len] != '\0');
	}
	return json_pack("{s:s,s:s,s:s,s:s,s:s,s:i,s:i,s:o,s:i,s:s}", "name", n->name, "labels",
			 labels ? labels + 1 : "", "version", n->version, "verdict",
			 n->verdict ? verdict_name(n->verdict) : "", "why", n->why, "cpus",
			 (int)n->nr_cpus, "jvms", (int)n->nr_jvms, "services", services,
			 "nr_services", (int)n->nr_services, "url", n->url);
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct gather_node *const *)a)->name,
		      (*(struct gather_node *const *)b)->name);
}

json_t *fleet_json_census(const struct gather *g)
{
	auto_free struct gather_node **all = xcalloc(g->nodes.nr + 1, sizeof(all[0]));
	json_t *nodes = json_array();

	for (size_t i = 0; i < g->nodes.nr; i++)
		all[i] = g->nodes.at[i];
	qsort(all, g->nodes.nr, sizeof(all[0]), by_name);
	for (size_t i = 0; i < g->nodes.nr && i < FLEET_JSON_LIST; i++)
		json_array_append_new(nodes, census_node_json(all[i]));
	auto_free char *silent = census_silent_text(g);
	return json_pack("{s:i,s:i,s:s,s:o,s:o}", "nr", (int)g->nodes.nr, "twins", (int)g->nr_twins,
			 "silent", silent ?: "", "services", services_json(g), "nodes", nodes);
}
