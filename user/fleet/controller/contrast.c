/* SPDX-License-Identifier: Apache-2.0 */
/* How two groups of nodes differ. */
#include "fleet/controller/contrast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/auto.h"
#include "fleet/controller/node_table.h"
#include "profile/diff.h"

#define NO_NODE UINT32_MAX

/* The nodes of a group, in the order of their totals. */
struct side {
	const struct contrast_side *of;
	u32 nr_nodes;
	u32 *node_of; /* by total; NO_NODE */
	u32 type;     /* in the table */
	double *sums; /* by node */
	double total;
};

struct method {
	const char *name; /* of a table; the key */
	double sums[2];
	double *values[2]; /* by node; NULL: not followed */
	double spread[2];  /* the variance of the share, over nodes */
	double sigmas;     /* of the change */
	UT_hash_handle hh;
};

struct contrasting {
	struct side sides[2];
	struct method *methods;
};

/* Whether the row is a method's self value in the group's value type. */
static bool is_self(const struct side *s, const struct node_row *r)
{
	return r->kind == NODE_ROW_METHOD && r->type == s->type && s->node_of[r->node] != NO_NODE;
}

static void side_init(struct side *s, const struct contrast_side *of)
{
	*s = (struct side){ .of = of };
	s->sums = xcalloc(of->nr_totals + 1, sizeof(s->sums[0]));
	s->node_of = xcalloc(of->nr_totals + 1, sizeof(s->node_of[0]));
	for (size_t i = 0; i < of->nr_totals; i++)
		s->node_of[i] = of->totals[i].err ? NO_NODE : s->nr_nodes++;
	for (size_t i = 0; of->sums_are_known && i < of->nr_totals; i++)
		if (!of->totals[i].err)
			s->sums[s->node_of[i]] = (double)of->totals[i].raw;
	if (!of->table)
		return;
	s->type = node_table_type(of->table, &of->profile->types.at[of->type]);
	vec_each(r, &of->table->rows) {
		if (!is_self(s, r))
			continue;
		s->total += (double)r->value;
		s->sums[s->node_of[r->node]] += of->sums_are_known ? 0 : (double)r->value;
	}
}

static void side_fini(struct side *s)
{
	free(s->node_of);
	free(s->sums);
}

static struct method *method_of(struct contrasting *c, const char *name)
{
	struct method *m;

	HASH_FIND_STR(c->methods, name, m);
	if (m)
		return m;
	m = xcalloc(1, sizeof(*m));
	m->name = name;
	HASH_ADD_KEYPTR(hh, c->methods, m->name, strlen(m->name), m);
	return m;
}

static void add_selfs(struct contrasting *c, int side)
{
	const struct side *s = &c->sides[side];
	const struct node_table *t = s->of->table;

	vec_each(r, &t->rows)
		if (is_self(s, r))
			method_of(c, t->texts.at[r->name])->sums[side] += (double)r->value;
}

/* The value of a method in one node, or a part of that value. */
struct method_part {
	struct method *method;
	u32 node;
	double value;
};

static int by_method_and_node(const void *a, const void *b)
{
	const struct method_part *x = a, *y = b;

	if (x->method != y->method)
		return x->method < y->method ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static double share(const struct contrasting *c, const struct method *m, int side)
{
	return c->sides[side].total > 0 ? m->sums[side] / c->sides[side].total : 0;
}

/*
 * `nr` parts of one method, by node. Its share r of the sum is a ratio, whose variance is about
 * that of the mean of x - r * s, with x the method's and s the node's sum. The mean itself is 0.
 */
static void find_spread(struct contrasting *c, int side, const struct method_part *parts, size_t nr)
{
	const struct side *s = &c->sides[side];
	struct method *m = parts->method;
	double r = share(c, m, side), n = (double)s->nr_nodes, squares = 0;

	for (size_t i = 0; i < s->nr_nodes; i++)
		squares += r * r * s->sums[i] * s->sums[i];
	for (size_t i = 0, next; i < nr; i = next) {
		double x = 0, due = r * s->sums[parts[i].node];
		for (next = i; next < nr && parts[next].node == parts[i].node; next++)
			x += parts[next].value;
		squares += (x - due) * (x - due) - due * due;
	}
	double mean = s->total / n;
	m->spread[side] = n > 1 && mean > 0 ? squares / (n - 1) / n / (mean * mean) : 0;
}

static void find_spreads(struct contrasting *c, int side)
{
	const struct side *s = &c->sides[side];
	const struct node_table *t = s->of->table;
	VEC(struct method_part) parts = { 0 };

	vec_each(r, &t->rows)
		if (is_self(s, r))
			vec_push(&parts,
				 (struct method_part){ method_of(c, t->texts.at[r->name]),
						       s->node_of[r->node], (double)r->value });
	if (parts.nr)
		qsort(parts.at, parts.nr, sizeof(parts.at[0]), by_method_and_node);
	for (size_t i = 0, next; i < parts.nr; i = next) {
		for (next = i; next < parts.nr && parts.at[next].method == parts.at[i].method;)
			next++;
		find_spread(c, side, &parts.at[i], next - i);
	}
	vec_fini(&parts);
}

/*
 * Welch's t in standard deviations of a normal distribution with the same probability (Wallace,
 * Annals of Mathematical Statistics 30, 1959).
 */
static double sigmas_of(const struct contrasting *c, const struct method *m)
{
	double change = fabs(share(c, m, 1) - share(c, m, 0)), all = m->spread[0] + m->spread[1];
	double parts = 0;

	if (!(change > 0))
		return 0;
	if (!(all > 0))
		return INFINITY;
	for (int side = 0; side < 2; side++)
		parts += m->spread[side] * m->spread[side] / ((double)c->sides[side].nr_nodes - 1);
	double freedom = all * all / parts;
	return (8 * freedom + 1) / (8 * freedom + 3) *
	       sqrt(freedom * log1p(change * change / all / freedom));
}

/* Returns the limit: a change of more standard deviations than that is no chance. */
static double judge(struct contrasting *c, struct contrast *out)
{
	double *sigmas = xcalloc(HASH_COUNT(c->methods) + 1, sizeof(sigmas[0]));
	struct method *m, *next;

	find_spreads(c, 0);
	find_spreads(c, 1);
	HASH_ITER(hh, c->methods, m, next)
		sigmas[out->nr_compared++] = m->sigmas = sigmas_of(c, m);
	double limit = diff_limit(sigmas, out->nr_compared);
	HASH_ITER(hh, c->methods, m, next)
		out->nr_changed += m->sigmas >= limit;
	free(sigmas);
	return limit;
}

static int by_change(const void *a, const void *b, void *ctx)
{
	const struct method *x = *(struct method *const *)a, *y = *(struct method *const *)b;
	double p = fabs(share(ctx, x, 1) - share(ctx, x, 0));
	double q = fabs(share(ctx, y, 1) - share(ctx, y, 0));

	return p > q ? -1 : p < q ? 1 : strcmp(x->name, y->name);
}

static void fill_values(struct contrasting *c, int side)
{
	const struct side *s = &c->sides[side];
	const struct node_table *t = s->of->table;

	vec_each(r, &t->rows) {
		struct method *m = is_self(s, r) ? method_of(c, t->texts.at[r->name]) : NULL;
		if (m && m->values[side])
			m->values[side][s->node_of[r->node]] += (double)r->value;
	}
}

/*
 * A share is a ratio of two sums. Near the truth it moves like the mean of these values, one for
 * each node, whose mean is the share itself.
 */
static void make_linear(const struct contrasting *c, struct method *m, int side)
{
	const struct side *s = &c->sides[side];
	double ratio = share(c, m, side), mean = s->total / (double)s->nr_nodes;

	for (size_t i = 0; i < s->nr_nodes; i++)
		m->values[side][i] =
			mean > 0 ? ratio + (m->values[side][i] - ratio * s->sums[i]) / mean : 0;
}

static struct estimate change_of(const struct contrasting *c, struct method *m)
{
	const struct estimate_groups g = { m->values[0], m->values[1], c->sides[0].nr_nodes,
					   c->sides[1].nr_nodes };

	make_linear(c, m, 0);
	make_linear(c, m, 1);
	return estimate_difference(&g);
}

static void follow(struct contrasting *c, struct method **list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		for (int side = 0; side < 2; side++)
			list[i]->values[side] =
				xcalloc(c->sides[side].nr_nodes + 1, sizeof(double));
	fill_values(c, 0);
	fill_values(c, 1);
}

static void choose_methods(struct contrasting *c, size_t max, struct contrast *out)
{
	size_t nr = HASH_COUNT(c->methods), i = 0;
	struct method **list = xcalloc(nr + 1, sizeof(list[0])), *m, *next;

	HASH_ITER(hh, c->methods, m, next)
		list[i++] = m;
	if (nr)
		qsort_r(list, nr, sizeof(list[0]), by_change, c);
	double limit = judge(c, out);
	nr = nr < max ? nr : max;
	follow(c, list, nr);
	for (i = 0; i < nr; i++) {
		struct contrast_method found = { xstrdup(list[i]->name), share(c, list[i], 0),
						 share(c, list[i], 1), change_of(c, list[i]),
						 false };
		found.is_chance = found.change.has_interval && !(list[i]->sigmas >= limit);
		vec_push(&out->methods, found);
	}
	free(list);
}

static double mean_of(const struct side *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->nr_nodes; i++)
		sum += s->sums[i];
	return s->nr_nodes ? sum / (double)s->nr_nodes : 0;
}

static bool has_sums(const struct side *s)
{
	return s->nr_nodes && (s->of->table || s->of->sums_are_known);
}

void contrast_make(const struct contrast_side *before, const struct contrast_side *after,
		   size_t nr_methods, struct contrast *out)
{
	struct contrasting c = { 0 };
	struct side *b = &c.sides[0], *a = &c.sides[1];
	struct method *m, *next;

	side_init(b, before);
	side_init(a, after);
	*out = (struct contrast){ .nr_before = b->nr_nodes,
				  .nr_after = a->nr_nodes,
				  .has_nodes = before->table && after->table,
				  .has_sums = has_sums(b) && has_sums(a),
				  .mean_before = mean_of(b),
				  .mean_after = mean_of(a) };
	const struct estimate_groups g = { b->sums, a->sums, out->nr_before, out->nr_after };
	if (out->has_sums)
		out->change = estimate_difference(&g);
	if (out->has_nodes && out->has_sums) {
		add_selfs(&c, 0);
		add_selfs(&c, 1);
		choose_methods(&c, nr_methods, out);
	}
	HASH_ITER(hh, c.methods, m, next) {
		HASH_DEL(c.methods, m);
		free(m->values[0]);
		free(m->values[1]);
		free(m);
	}
	side_fini(b);
	side_fini(a);
}

void contrast_fini(struct contrast *c)
{
	vec_each(m, &c->methods)
		free(m->name);
	vec_fini(&c->methods);
}

void contrast_add_change(struct str *out, const struct estimate *e, double factor, const char *unit)
{
	str_addf(out, "%+.2f%s", e->total * factor, unit);
	if (e->has_interval)
		str_addf(out, " (from %+.2f%s to %+.2f%s)", e->low * factor, unit, e->high * factor,
			 unit);
}

void contrast_note(const struct contrast *c, const char *unit, struct profile *p)
{
	auto_str struct str text = { 0 };

	if (!c->has_sums)
		return;
	str_addf(&text, "%.2f to %.2f %s in a node: ", c->mean_before, c->mean_after, unit);
	contrast_add_change(&text, &c->change, 1, "");
	if (!c->change.has_interval)
		str_addf(&text, "; too few nodes for an interval, which takes %d in each group",
			 ESTIMATE_NODES);
	profile_note(p, "fleet-change", text.at, c->nr_before + c->nr_after);
	vec_each(m, &c->methods) {
		auto_free char *key = xasprintf("fleet-method/%s", m->name);
		str_clear(&text);
		contrast_add_change(&text, &m->change, 100, " %");
		str_add(&text, m->is_chance ? ", chance" : "");
		profile_note(p, key, text.at, 0);
	}
}

void contrast_use_raw(struct profile *p, u32 *type)
{
	static const char *const ends[] = { "samples", "raw" };
	struct value_type *t = &p->types.at[*type];

	for (u32 i = 0; i < ARRAY_SIZE(ends); i++) {
		auto_free char *name = xasprintf("%s-%s", t->name, ends[i]);
		for (u32 other = 0; other < p->types.nr; other++) {
			struct value_type *raw = &p->types.at[other];
			if (strcmp(raw->name, name) != 0 || strcmp(raw->unit, t->unit) != 0)
				continue;
			free(raw->name);
			raw->name = xstrdup(t->name);
			*type = other;
			return;
		}
	}
}
