/* SPDX-License-Identifier: Apache-2.0 */
/* Services and methods of a merged profile. */
#include "fleet/controller/parts.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/auto.h"
#include "fleet/controller/coverage.h"
#include "fleet/controller/node_table.h"

struct found {
	const char *name; /* the key; of the profile */
	u64 value;
	double *values; /* by node of the sample, as recorded; NULL: it is not among the largest */
	UT_hash_handle hh;
};

struct finding {
	const struct profile *p; /* NULL: the table of nodes alone tells */
	u32 type;                /* in the table of nodes, if there is one */
	enum parts_by by;
	bool is_estimate;
	struct estimate_sample sample;
	const struct estimate_fleet *fleet;
	struct found *all;
};

static const char *name_of(const struct finding *f, const struct weight *w)
{
	if (f->by == PARTS_METHODS)
		return frames_get(f->p->frames, f->p->nodes.at[w->node].frame)->name;
	return node_table_service(&f->p->labels.at[w->labels]);
}

static struct found *found_of(struct finding *f, const char *name)
{
	struct found *one;

	HASH_FIND_STR(f->all, name, one);
	if (one)
		return one;
	one = xcalloc(1, sizeof(*one));
	one->name = name;
	HASH_ADD_KEYPTR(hh, f->all, one->name, strlen(one->name), one);
	return one;
}

static int by_value(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->value != y->value ? (x->value < y->value) - (x->value > y->value)
				    : strcmp(x->name, y->name);
}

/* Adds the values of each node. A shorter recording is scaled up, as in the profile. */
static void add_values(struct finding *f, const struct controller_state *s)
{
	const enum node_row_kind kind = f->by == PARTS_METHODS ? NODE_ROW_METHOD : NODE_ROW_SERVICE;
	/* index in the sample, which has the nodes that delivered, in the order of the totals */
	u32 node = 0;

	vec_each(r, &s->table->rows) {
		const struct merge_total *total = &s->totals[r->node];
		struct found *one;
		while (node < f->sample.nr && f->sample.nodes[node].index < r->node)
			node++;
		if (node == f->sample.nr)
			return;
		if (f->sample.nodes[node].index != r->node || r->type != f->type || r->kind != kind)
			continue;
		HASH_FIND_STR(f->all, s->table->texts.at[r->name], one);
		if (one && one->values && total->raw)
			one->values[node] +=
				(double)r->value * f->sample.nodes[node].value / (double)total->raw;
	}
}

static struct part part_of(const struct finding *f, const struct found *one)
{
	struct part part = { .name = xstrdup(one->name), .value = one->value };

	for (u32 i = 0; one->values && i < f->sample.nr; i++)
		part.nr_nodes += one->values[i] > 0;
	if (!one->values || !f->is_estimate)
		return part;
	struct estimate_node *nodes =
		xmemdup(f->sample.nodes, f->sample.nr * sizeof(f->sample.nodes[0]));
	struct estimate_sample sample = f->sample;
	for (u32 i = 0; i < sample.nr; i++)
		nodes[i].value = one->values[i];
	sample.nodes = nodes;
	part.estimate = estimate_total(f->fleet, &sample);
	part.estimate.has_interval &= part.nr_nodes >= PARTS_NODES;
	free(nodes);
	return part;
}

/* The value of a service in all nodes; if there are more nodes than its sample, an estimate. */
static void take_value(const struct finding *f, const struct found *one, struct part *part)
{
	double sum = 0;

	for (u32 i = 0; i < f->sample.nr; i++)
		sum += one->values[i];
	part->value = (u64)(f->is_estimate ? part->estimate.total : sum);
}

static void sum_values(struct finding *f, const struct controller_state *s)
{
	if (f->p) {
		vec_each(w, &f->p->weights)
			if (!w->type)
				found_of(f, name_of(f, w))->value += w->value;
		return;
	}
	vec_each(r, &s->table->rows)
		if (r->type == f->type && r->kind == NODE_ROW_SERVICE)
			found_of(f, s->table->texts.at[r->name])->value += r->value;
}

static void find_parts(struct finding *f, const struct controller_state *s, size_t max,
		       struct parts *out)
{
	struct found *one, *next;
	size_t nr = 0;

	sum_values(f, s);
	HASH_SORT(f->all, by_value);
	HASH_ITER(hh, f->all, one, next)
		if (nr++ < max && out->has_nodes)
			one->values = xcalloc(f->sample.nr + 1, sizeof(one->values[0]));
	if (out->has_nodes)
		add_values(f, s);
	nr = 0;
	HASH_ITER(hh, f->all, one, next) {
		if (nr++ < max) {
			vec_push(&out->all, part_of(f, one));
			if (!f->p) {
				take_value(f, one, &out->all.at[out->all.nr - 1]);
				out->all.at[out->all.nr - 1].values = take(one->values);
			}
		}
		HASH_DEL(f->all, one);
		free(one->values);
		free(one);
	}
	out->nr_more = nr > max ? nr - max : 0;
}

void parts_make(const struct profile *p, const struct controller_state *s, enum parts_by by,
		size_t max, struct parts *out)
{
	struct finding f = {
		.p = p, .by = by, .is_estimate = s->is_estimate, .fleet = &s->choice->fleet
	};

	*out = (struct parts){ 0 };
	if (!p->types.nr)
		return;
	coverage_sample(s, &f.sample);
	out->has_nodes = s->table;
	if (s->table)
		f.type = node_table_type(s->table, &p->types.at[0]);
	find_parts(&f, s, max, out);
	free((void *)f.sample.nodes);
}

void parts_of_nodes(const struct controller_state *s, const struct value_type *type, size_t max,
		    struct parts *out)
{
	struct finding f = { .by = PARTS_SERVICES,
			     .is_estimate = s->is_estimate,
			     .fleet = &s->choice->fleet };

	*out = (struct parts){ .has_nodes = s->table };
	if (!s->table)
		return;
	f.type = node_table_type(s->table, type);
	coverage_sample(s, &f.sample);
	find_parts(&f, s, max, out);
	out->nr_totals = f.sample.nr;
	out->totals = xcalloc(f.sample.nr + 1, sizeof(out->totals[0]));
	for (u32 i = 0; i < f.sample.nr; i++)
		out->totals[i] = f.sample.nodes[i].index;
	free((void *)f.sample.nodes);
}

void parts_fini(struct parts *parts)
{
	vec_each(part, &parts->all) {
		free(part->name);
		free(part->values);
	}
	vec_fini(&parts->all);
	free(parts->totals);
}

void parts_note(const struct parts *methods, struct profile *p)
{
	double all = p->types.nr ? (double)profile_total(p, 0) : 0;

	vec_each(m, &methods->all) {
		const struct estimate *e = &m->estimate;
		auto_free char *key = xasprintf("fleet-method/%s", m->name);
		auto_str struct str text = { 0 };
		str_addf(&text, "%.2f %%", 100 * (double)m->value / all);
		if (e->has_interval)
			str_addf(&text, " (from %.2f %% to %.2f %%)", 100 * e->low / all,
				 100 * e->high / all);
		else
			str_addf(&text, ", seen on %u node%s", m->nr_nodes,
				 m->nr_nodes == 1 ? "" : "s");
		if (!e->fault)
			profile_note(p, key, text.at, 0);
	}
}
