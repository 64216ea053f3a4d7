/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a profile by service and by event. */
#include "push/split.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "export/interchange/external.h"

#define NO_SERVICE   "unknown_service"
#define OTHER        "other"
#define SMALL_PART   100 /* a command with less of each value type is in OTHER */
#define OTHER_STACKS "[other stacks]"

struct group {
	const char *name;
	u64 total;       /* of the first value type */
	bool is_command; /* outside containers, and named by its program */
	VEC(u32) weights;
};

struct split {
	const struct profile *p;
	u32 max_stacks;
	struct texts names;
	VEC(struct group) groups; /* by text at first, then the heaviest first */
};

static bool is_command(const struct labels *l)
{
	return !*l->container && !*l->container_id && !*l->pod && *l->comm &&
	       !strcmp(l->service, l->comm);
}

static void sort_into_groups(struct split *s)
{
	const struct profile *p = s->p;

	for (u32 i = 0; i < p->weights.nr; i++) {
		const struct weight *w = &p->weights.at[i];
		u32 text = texts_add(&s->names, p->labels.at[w->labels].service);
		while (s->groups.nr <= text)
			vec_push(&s->groups, (struct group){ 0 });
		struct group *g = &s->groups.at[text];
		if (!g->weights.nr)
			g->is_command = true;
		g->is_command &= is_command(&p->labels.at[w->labels]);
		g->total += w->type ? 0 : w->value;
		vec_push(&g->weights, i);
	}
	for (size_t i = 0; i < s->groups.nr; i++)
		s->groups.at[i].name = i ? s->names.all.at[i] : NO_SERVICE;
}

/* Groups without weights come last. */
static int by_total(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (!x->weights.nr != !y->weights.nr)
		return x->weights.nr ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void join(struct group *to, struct group *from)
{
	vec_each(w, &from->weights)
		vec_push(&to->weights, *w);
	vec_fini(&from->weights);
	to->name = OTHER;
}

/* The group that the smallest groups are joined to. */
static struct group *other_of(struct split *s, u32 max_services)
{
	for (u32 i = 0; i < max_services; i++)
		if (!strcmp(s->groups.at[i].name, OTHER))
			return &s->groups.at[i];
	return &s->groups.at[max_services - 1];
}

static u64 *type_totals(const struct split *s, const struct group *g)
{
	u64 *totals = xcalloc(s->p->types.nr + 1, sizeof(totals[0]));

	vec_each(i, &g->weights)
		totals[s->p->weights.at[*i].type] += s->p->weights.at[*i].value;
	return totals;
}

static bool is_small(const struct split *s, const struct group *g, const u64 *sums)
{
	auto_free u64 *totals = type_totals(s, g);

	for (u32 t = 0; t < s->p->types.nr; t++)
		if (totals[t] && totals[t] >= sums[t] / SMALL_PART)
			return false;
	return true;
}

/* Each new name of a short command would be another series. */
static void join_small_commands(struct split *s)
{
	auto_free u64 *sums = xcalloc(s->p->types.nr + 1, sizeof(sums[0]));
	struct group *other = NULL;

	vec_each(w, &s->p->weights)
		sums[w->type] += w->value;
	vec_each(g, &s->groups) {
		if (!g->is_command || !g->weights.nr || !is_small(s, g, sums))
			continue;
		if (other) {
			other->total += g->total;
			join(other, g);
			g->weights.nr = 0;
			g->total = 0;
		} else {
			other = g;
			g->name = OTHER;
		}
	}
}

struct split *split_new(const struct profile *p, u32 max_services, u32 max_stacks)
{
	struct split *s = xcalloc(1, sizeof(*s));

	s->p = p;
	s->max_stacks = max_stacks;
	texts_init(&s->names);
	sort_into_groups(s);
	join_small_commands(s);
	if (s->groups.nr)
		qsort(s->groups.at, s->groups.nr, sizeof(s->groups.at[0]), by_total);
	while (s->groups.nr && !s->groups.at[s->groups.nr - 1].weights.nr)
		s->groups.nr--; /* it owns nothing */
	while (s->groups.nr > max_services) {
		s->groups.nr--;
		join(other_of(s, max_services), &s->groups.at[s->groups.nr]);
	}
	return s;
}

void split_free(struct split *s)
{
	vec_each(g, &s->groups)
		vec_fini(&g->weights);
	vec_fini(&s->groups);
	texts_fini(&s->names);
	free(s);
}

u32 split_nr(const struct split *s)
{
	return (u32)s->groups.nr;
}

const char *split_name(const struct split *s, u32 service)
{
	return s->groups.at[service].name;
}

struct copy {
	const struct profile *from;
	struct profile *to;
	struct dict nodes, frames, types; /* of `from` -> of `to`, + 1 */
	VEC(node_id) path;
};

static struct profile *begin_copy(struct copy *c, const struct profile *from)
{
	struct profile *to = profile_new();

	*c = (struct copy){ .from = from, .to = to };
	to->start_wall_ns = from->start_wall_ns;
	to->duration_ns = from->duration_ns;
	to->rate_hz = from->rate_hz;
	free(to->host);
	to->host = xstrdup(from->host);
	free(to->node_labels);
	to->node_labels = xstrdup(from->node_labels);
	if (frames_keeps_lines(from->frames))
		frames_keep_lines(to->frames);
	return to;
}

static void end_copy(struct copy *c)
{
	dict_fini(&c->nodes);
	dict_fini(&c->frames);
	dict_fini(&c->types);
	vec_fini(&c->path);
}

static node_id copy_node(struct copy *c, node_id leaf)
{
	node_id at = 0;

	c->path.nr = 0;
	for (node_id n = leaf; n; n = c->from->nodes.at[n].parent) {
		const u64 *known = dict_find(&c->nodes, n);
		if (known) {
			at = (node_id)*known;
			break;
		}
		vec_push(&c->path, n);
	}
	while (c->path.nr) {
		node_id n = c->path.at[--c->path.nr];
		frame_id frame = c->from->nodes.at[n].frame;
		u64 *own = dict_add(&c->frames, frame);
		if (!*own)
			*own = frames_copy(c->to->frames, frames_get(c->from->frames, frame)) + 1;
		at = profile_child(c->to, at, (frame_id)*own - 1);
		*dict_add(&c->nodes, n) = at;
	}
	return at;
}

static u32 copy_type(struct copy *c, u32 type)
{
	const struct value_type *t = &c->from->types.at[type];
	u64 *own = dict_add(&c->types, type);

	if (!*own)
		*own = profile_find_type(c->to, t->name, t->unit) + 1;
	return (u32)*own - 1;
}

/* Labels with few values: receivers make a series of each combination. */
static labels_id copy_labels(struct copy *c, labels_id id, const char *service, bool has_ids)
{
	const struct labels *l = &c->from->labels.at[id];
	const struct labels kept = {
		.container = l->container,
		.namespace = l->namespace,
		.pod = l->pod,
		.container_id = has_ids ? l->container_id : NULL,
		.pod_uid = has_ids ? l->pod_uid : NULL,
		.service = has_ids ? service : NULL,
	};

	return profile_intern_labels(c->to, &kept);
}

static int by_value(const void *a, const void *b, void *profile)
{
	const struct profile *p = profile;
	const struct weight *x = &p->weights.at[*(const u32 *)a];
	const struct weight *y = &p->weights.at[*(const u32 *)b];

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return x->value > y->value ? -1 : x->value < y->value;
}

static u64 common_divisor(u64 a, u64 b)
{
	while (b) {
		u64 rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/*
 * Slices weigh samples by the time that they stand for. If the rate did not change, weight / period
 * is the number of samples. If it changed, a shorter period still gives the exact time.
 */
static void count_samples(struct profile *p)
{
	const struct value_type *cpu = NULL;
	u64 period_ns = p->rate_hz > 0 ? (u64)(1e9 / p->rate_hz) : 0, divisor = 0;
	u32 type = 0;

	for (; type < p->types.nr && !cpu; type++)
		if (!strcmp(p->types.at[type].name, "cpu") && !strcmp(p->types.at[type].unit, "ns"))
			cpu = &p->types.at[type];
	if (!cpu)
		return;
	type--;
	vec_each(w, &p->weights)
		if (w->type == type)
			divisor = common_divisor(w->value, divisor);
	if (!divisor)
		return;
	if (!period_ns || divisor % period_ns)
		period_ns = divisor;
	vec_each(w, &p->weights)
		if (w->type == type)
			w->value /= period_ns;
	free(p->types.at[type].unit);
	p->types.at[type].unit = xstrdup("samples");
	p->rate_hz = 1e9 / (double)period_ns;
}

struct profile *split_service(const struct split *s, u32 service, bool has_ids)
{
	const struct group *g = &s->groups.at[service];
	auto_free u32 *order = xmemdup(g->weights.at, g->weights.nr * sizeof(order[0]));
	struct copy c;
	struct profile *q = begin_copy(&c, s->p);
	u32 nr_of_type = 0;

	qsort_r(order, g->weights.nr, sizeof(order[0]), by_value, (void *)s->p);
	for (size_t i = 0; i < g->weights.nr; i++) {
		const struct weight *w = &s->p->weights.at[order[i]];
		bool is_first = !i || s->p->weights.at[order[i - 1]].type != w->type;
		node_id node;
		nr_of_type = is_first ? 1 : nr_of_type + 1;
		if (nr_of_type < s->max_stacks)
			node = copy_node(&c, w->node);
		else
			node = profile_child(
				q, 0, frames_intern(q->frames, FRAME_GROUP, OTHER_STACKS, ""));
		profile_add(q, node, copy_labels(&c, w->labels, g->name, has_ids),
			    copy_type(&c, w->type), w->value);
	}
	end_copy(&c);
	count_samples(q);
	return q;
}

struct profile *split_event(const struct profile *p, const char *name, const char *event)
{
	auto_free char *counts = xasprintf("%s-samples", event);
	struct copy c;
	struct profile *q = begin_copy(&c, p);

	vec_each(w, &p->weights) {
		const char *type = p->types.at[w->type].name;
		if (strcmp(type, name) && strcmp(type, counts))
			continue;
		labels_id labels = profile_intern_labels(q, &p->labels.at[w->labels]);
		profile_add(q, copy_node(&c, w->node), labels, copy_type(&c, w->type), w->value);
	}
	end_copy(&c);
	return q;
}

char *split_id(const struct profile *p, const char *service, const char *event, const char *host)
{
	static const u8 keys[2][SIPHASH_KEY_LEN] = { "first", "second" };
	auto_free char *text =
		xasprintf("%llu\n%llu\n%s\n%s\n%s", (unsigned long long)p->start_wall_ns,
			  (unsigned long long)p->duration_ns, event, service, host);
	unsigned long long a = siphash(keys[0], text, strlen(text));
	unsigned long long b = siphash(keys[1], text, strlen(text));

	/* A UUID of version 8 (RFC 9562), whose bits we choose. */
	return xasprintf("%08llx-%04llx-8%03llx-%04llx-%012llx", a >> 32, a >> 16 & 0xffff,
			 a & 0xfff, (b >> 48 & 0x3fff) | 0x8000, b & 0xffffffffffffull);
}
