/* SPDX-License-Identifier: Apache-2.0 */
/* Services and methods of a merged profile. */
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
	bool is_estimate;
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

bool parts_node(const struct labels *l, char node[64])
{
	const char *at = l->tags ?: "";
	bool is_found = false;
	struct tag tag;

	while (!is_found && tag_next(&at, &tag)) {
		is_found = !tag.is_number && !strcmp(tag.key, "node");
		if (is_found)
			copy_text(node, 64, tag.text);
		tag_fini(&tag);
	}
	return is_found;
}

static u32 find_node(const struct finding *f, const struct labels *l)
{
	char name[64];
	u32 node = parts_node(l, name) ? 0 : f->sample.nr;

	while (node < f->sample.nr && strcmp(f->sample.nodes[node].name, name) != 0)
		node++;
	return node < f->sample.nr ? node : NO_NODE;
}

/* False if samples do not say of which node they are. */
static bool find_nodes(struct finding *f)
{
	f->node_of = xcalloc(f->p->labels.nr + 1, sizeof(f->node_of[0]));
	for (size_t l = 0; l < f->p->labels.nr; l++) {
		f->node_of[l] = find_node(f, &f->p->labels.at[l]);
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

static void find_parts(struct finding *f, size_t max, struct parts *out)
{
	struct found *one, *next;
	size_t nr = 0;

	vec_each(w, &f->p->weights)
		if (!w->type)
			found_of(f, name_of(f, w))->value += w->value;
	HASH_SORT(f->all, by_value);
	HASH_ITER(hh, f->all, one, next)
		if (nr++ < max && out->has_nodes)
			one->values = xcalloc(f->sample.nr + 1, sizeof(one->values[0]));
	if (out->has_nodes)
		add_values(f);
	nr = 0;
	HASH_ITER(hh, f->all, one, next) {
		if (nr++ < max)
			vec_push(&out->all, part_of(f, one));
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
	f.factor = s->is_estimate ? estimate_factor(f.fleet, &f.sample) : 1;
	out->has_nodes = find_nodes(&f);
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
