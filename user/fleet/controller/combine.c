/* SPDX-License-Identifier: Apache-2.0 */
/* Merges results while further ones arrive. */
#include "fleet/controller/combine.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/time.h"

static u32 lanes_of_machine(void)
{
	cpu_set_t cpus;
	u32 nr = sched_getaffinity(0, sizeof(cpus), &cpus) ? 2 : (u32)CPU_COUNT(&cpus);

	return nr < 2 ? 2 : nr > COMBINE_LANES ? COMBINE_LANES : nr;
}

int combine_init(struct combine *c, struct workers *w)
{
	*c = (struct combine){ .workers = w,
			       .nr_lanes = lanes_of_machine(),
			       .order = { .reach = 1, .tags_nodes = true, .lists_nodes = true } };
	for (int i = 0; i < COMBINE_LANES; i++)
		c->lanes[i].merges.fd = -1;
	return spool_open(&c->next);
}

void combine_fini(struct combine *c)
{
	for (int i = 0; i < COMBINE_LANES; i++) {
		work_free(c->lanes[i].work);
		spool_close(&c->lanes[i].merges);
		vec_fini(&c->lanes[i].partials);
	}
	spool_close(&c->next);
	vec_fini(&c->waiting);
	str_fini(&c->profile);
	vec_fini(&c->totals);
	node_table_fini(&c->table);
	vec_fini(&c->part_of);
	free(c->error);
	str_fini(&c->shown);
	if (c->preview)
		combine_fini(c->preview);
	free(c->preview);
}

static void fail(struct combine *c, const char *why)
{
	if (!c->error)
		c->error = xasprintf("the profiles cannot be merged: %s", why);
}

void combine_filter(struct combine *c, const char *selector)
{
	auto_str struct str why = { 0 };
	struct selector s;

	if (!selector_parse(selector, &s, &why))
		memcpy(c->order.wanted, s.processes, sizeof(c->order.wanted));
}

int combine_add(struct combine *c, const struct spool_result *r)
{
	/* A preview may lack results. */
	if (c->preview && c->preview->next.nr_results < MERGE_RESULTS)
		spool_add(&c->preview->next, r);
	return c->next.nr_results < MERGE_RESULTS || c->holds ? spool_add(&c->next, r) : -ENOSPC;
}

static int add_totals(struct combine *c, const struct partial_result *o, u32 partial)
{
	u32 first = (u32)c->totals.nr;

	vec_each(t, &o->totals) {
		vec_push(&c->totals, *t);
		vec_push(&c->part_of, partial);
	}
	return node_table_decode(&c->table, o->table.at, o->table.len, first, (u32)o->totals.nr);
}

/* Adds a partial result. The nodes in it are already among the totals. */
static int add_partial(struct combine *c, u32 partial, const struct str *profile)
{
	u32 nr = 0;

	vec_each(of, &c->part_of)
		nr += *of == partial;
	int err = spool_add_merged(&c->next, profile->at, profile->len, nr);
	if (!err)
		vec_push(&c->waiting, partial);
	return err;
}

/* Nodes of a lane's partial results become nodes of `joined`, also where a result was left out. */
static void join_partials(struct combine *c, const struct combine_lane *lane,
			  const struct partial_result *o, u32 joined)
{
	for (size_t i = 0; i < lane->partials.nr; i++) {
		u32 err = 0;
		vec_each(l, &o->lost)
			err = l->index == i ? l->err : err;
		for (size_t t = 0; t < c->totals.nr; t++) {
			struct merge_total *total = &c->totals.at[t];
			if (c->part_of.at[t] != lane->partials.at[i])
				continue;
			c->part_of.at[t] = joined;
			if (!err || total->err)
				continue;
			total->err = err;
			total->raw = total->value = 0;
		}
	}
}

static bool is_batch(const struct combine *c)
{
	return c->next.nr_results >= (c->has_begun ? COMBINE_RESULTS : COMBINE_FIRST) ||
	       c->next.len >= COMBINE_BYTES;
}

static u32 nr_busy(const struct combine *c)
{
	u32 nr = 0;

	for (u32 i = 0; i < c->nr_lanes; i++)
		nr += c->lanes[i].work != NULL;
	return nr;
}

bool combine_is_full(const struct combine *c)
{
	return !c->holds && is_batch(c) && nr_busy(c) == c->nr_lanes;
}

/*
 * Begins a merge. It takes the partial result so far out of `profile`, so that no other lane merges
 * that result again.
 */
static void begin(struct combine *c, struct combine_lane *lane)
{
	if (c->profile.len && add_partial(c, c->profile_partial, &c->profile)) {
		fail(c, "no memory");
		return;
	}
	str_fini(&c->profile);
	c->has_begun = true;
	lane->merges = c->next;
	lane->partials = c->waiting;
	c->waiting = (struct combine_partials){ 0 };
	if (spool_open(&c->next))
		fail(c, "no memory");
	lane->work = merge_begin_spool(c->workers, &lane->merges, &c->order);
}

/*
 * Takes a lane's partial result. If there is one already, the second one is queued for a merge with
 * the first.
 */
static void take_partial(struct combine *c, const struct combine_lane *lane,
			 struct partial_result *o)
{
	u32 partial = c->nr_partials++;

	join_partials(c, lane, o, partial);
	if (add_totals(c, o, partial))
		fail(c, "the worker's answer is malformed");
	if (!c->profile.len) {
		str_fini(&c->profile);
		c->profile = o->profile;
		c->profile_partial = partial;
		o->profile = (struct str){ 0 };
	} else if (add_partial(c, partial, &o->profile)) {
		fail(c, "no memory");
	}
}

static void take_result(struct combine *c, struct combine_lane *lane)
{
	struct partial_result o = { 0 };
	auto_str struct str bytes = { 0 }, why = { 0 };
	int err = merge_result(lane->work, &bytes, &why);

	if (err == -EAGAIN)
		return;
	work_free(take(lane->work));
	spool_close(&lane->merges);
	if (!err && merge_parse(bytes.at, bytes.len, &o)) {
		err = -EBADMSG;
		str_add(&why, "the worker's answer is malformed");
	}
	if (err)
		fail(c, why.at);
	else
		take_partial(c, lane, &o);
	vec_fini(&lane->partials);
	partial_result_fini(&o);
}

/*
 * If only partial results wait, they wait until no merge runs, because a running merge will give
 * one more partial result.
 */
static bool may_begin(const struct combine *c, bool all)
{
	if (c->error || c->holds || !c->next.nr)
		return false;
	return is_batch(c) || (all && (c->next.nr_results || !nr_busy(c)));
}

void combine_step(struct combine *c, bool all)
{
	if (c->workers)
		workers_poll(c->workers);
	for (u32 i = 0; i < c->nr_lanes; i++)
		if (c->lanes[i].work)
			take_result(c, &c->lanes[i]);
	for (u32 i = 0; i < c->nr_lanes; i++)
		if (!c->lanes[i].work && may_begin(c, all))
			begin(c, &c->lanes[i]);
}

int combine_start_preview(struct combine *c)
{
	struct combine *p = xcalloc(1, sizeof(*p));
	int err = combine_init(p, c->workers);

	p->order.tags_nodes = p->order.lists_nodes = false;
	p->nr_lanes = 1; /* all results so far are in one profile */
	c->preview = p;
	return err;
}

/* Keeps the profile: the next merge takes it away. */
static void show(struct combine *p)
{
	str_fini(&p->shown);
	str_add_bytes(&p->shown, p->profile.at, p->profile.len);
	p->nr++;
	p->nr_nodes = 0;
	vec_each(t, &p->totals)
		p->nr_nodes += !t->err || t->err == ENODATA;
}

void combine_step_preview(struct combine *c, u64 now_ns)
{
	struct combine *p = c->preview;
	struct combine_lane *lane = p ? &p->lanes[0] : NULL;

	if (!p || p->error)
		return;
	if (lane->work) {
		take_result(p, lane);
		if (!lane->work && !p->error && p->profile.len)
			show(p);
		return;
	}
	if (!p->next.nr_results || now_ns - p->begun_ns < NS_PER_SEC)
		return;
	p->begun_ns = now_ns;
	memcpy(p->order.wanted, c->order.wanted, sizeof(p->order.wanted));
	memcpy(p->order.event, c->order.event, sizeof(p->order.event));
	memcpy(p->order.unit, c->order.unit, sizeof(p->order.unit));
	begin(p, lane);
}

static const char *reason_of(u32 err)
{
	if (err == EOVERFLOW)
		return "With its result a sum would exceed 2^53, the largest number that all "
		       "formats hold.";
	if (err == ERANGE)
		return "It claims more samples than its CPUs can give.";
	return "Its result is no profile that can be read.";
}

/* ENODATA is no failure: the selected processes had no samples there. */
static bool is_spoiled(const struct merge_total *t)
{
	return t->err && t->err != ENODATA;
}

void combine_mark_spoiled(const struct combine *c, struct gather *nodes)
{
	vec_each(t, &c->totals) {
		struct gather_node *n = is_spoiled(t) ? gather_find(nodes, t->node) : NULL;
		if (n)
			gather_spoiled(nodes, n, reason_of(t->err));
	}
}

bool combine_is_empty(const struct combine *c)
{
	vec_each(t, &c->totals)
		if (t->err != ENODATA)
			return false;
	return c->totals.nr > 0;
}

bool combine_is_done(const struct combine *c)
{
	return c->error || (!nr_busy(c) && !c->next.nr);
}
