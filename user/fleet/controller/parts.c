/* SPDX-License-Identifier: Apache-2.0 */
/* Services and methods of an estimate. */
#include "fleet/controller/parts.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/auto.h"
#include "export/interchange/tags.h"
#include "fleet/controller/coverage.h"

#define NO_NODE UINT32_MAX

struct found {
	const char *name; /* the key; of the profile */
	u64 value;
	double *values; /* by node of the sample; NULL: it is not among the largest */
	UT_hash_handle hh;
};

struct finding {
	const struct profile *p;
	enum parts_by by;
	struct estimate_sample sample;
	const struct estimate_fleet *fleet;
	double factor;
	u32 *node_of; /* by label set, in the sample; NO_NODE */
	struct found *all;
};

static const char *name_of(const struct finding *f, const struct weight *w)
{
	const struct labels *l = &f->p->labels.at[w->labels];

	if (f->by == PARTS_METHODS)
		return frames_get(f->p->frames, f->p->nodes.at[w->node].frame)->name;
	const char *name = l->service && *l->service ? l->service : l->comm ?: "";
	return *name ? name : "(no name)";
}

static u32 find_node(const struct finding *f, const char *tags)
{
	u32 node = NO_NODE;
	struct tag tag;

	while (node == NO_NODE && tag_next(&tags, &tag)) {
		bool is_node = !tag.is_number && !strcmp(tag.key, "node");
		for (u32 i = 0; is_node && node == NO_NODE && i < f->sample.nr; i++)
			node = strcmp(f->sample.nodes[i].name, tag.text) ? NO_NODE : i;
		tag_fini(&tag);
	}
	return node;
}

/* False if samples do not say of which node they are. */
static bool find_nodes(struct finding *f)
{
	f->node_of = xcalloc(f->p->labels.nr + 1, sizeof(f->node_of[0]));
	for (size_t l = 0; l < f->p->labels.nr; l++) {
		f->node_of[l] = find_node(f, f->p->labels.at[l].tags ?: "");
		if (f->node_of[l] == NO_NODE)
			return false;
	}
	return true;
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

/* Values of the profile are weighted; what the nodes recorded is behind them. */
static void add_values(struct finding *f)
{
	vec_each(w, &f->p->weights) {
		struct found *one = w->type ? NULL : found_of(f, name_of(f, w));
		u32 node = f->node_of[w->labels];
		if (one && one->values)
			one->values[node] +=
				(double)w->value * f->sample.nodes[node].chance / f->factor;
	}
}

static struct part part_of(const struct finding *f, const struct found *one)
{
	struct estimate_node *nodes =
		xmemdup(f->sample.nodes, f->sample.nr * sizeof(f->sample.nodes[0]));
	struct estimate_sample sample = f->sample;
	struct part part = { .name = xstrdup(one->name), .value = one->value };

	for (u32 i = 0; i < sample.nr; i++) {
		nodes[i].value = one->values[i];
		part.nr_nodes += one->values[i] > 0;
	}
	sample.nodes = nodes;
	part.estimate = estimate_total(f->fleet, &sample);
	part.estimate.has_interval &= part.nr_nodes >= PARTS_NODES;
	free(nodes);
	return part;
}

static void find_parts(struct finding *f, size_t max, struct parts *out)
{
	struct found *one, *next;
	size_t nr = 0;

	vec_each(w, &f->p->weights)
		if (!w->type)
			found_of(f, name_of(f, w))->value += w->value;
	HASH_SORT(f->all, by_value);
	HASH_ITER(hh, f->all, one, next)
		if (nr++ < max)
			one->values = xcalloc(f->sample.nr + 1, sizeof(one->values[0]));
	add_values(f);
	HASH_ITER(hh, f->all, one, next) {
		if (one->values)
			vec_push(&out->all, part_of(f, one));
		HASH_DEL(f->all, one);
		free(one->values);
		free(one);
	}
}

void parts_make(const struct profile *p, const struct controller_state *s, enum parts_by by,
		size_t max, struct parts *out)
{
	struct finding f = { .p = p, .by = by };

	*out = (struct parts){ 0 };
	if (!s->is_estimate || !p->types.nr)
		return;
	f.fleet = &s->choice->fleet;
	coverage_sample(s, &f.sample);
	f.factor = estimate_factor(f.fleet, &f.sample);
	if (find_nodes(&f))
		find_parts(&f, max, out);
	free(f.node_of);
	free((void *)f.sample.nodes);
}

void parts_fini(struct parts *parts)
{
	vec_each(part, &parts->all)
		free(part->name);
	vec_fini(&parts->all);
}

const struct part *parts_find(const struct parts *parts, const char *name)
{
	vec_each(part, &parts->all)
		if (!strcmp(part->name, name))
			return part;
	return NULL;
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
