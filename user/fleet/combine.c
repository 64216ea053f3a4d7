/* SPDX-License-Identifier: Apache-2.0 */
/* Merges results while further ones arrive. */
#include "fleet/combine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

int combine_init(struct combine *c, struct workers *w)
{
	*c = (struct combine){ .workers = w,
			       .order = { .share_ppb = FLEET_PPB, .keeps_nodes = true },
			       .merges = { .fd = -1 } };
	return spool_open(&c->next);
}

void combine_fini(struct combine *c)
{
	work_free(c->work);
	spool_close(&c->next);
	spool_close(&c->merges);
	str_fini(&c->profile);
	vec_fini(&c->totals);
	free(c->error);
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
	return c->next.nr_results < MERGE_RESULTS || c->holds ? spool_add(&c->next, r) : -ENOSPC;
}

static void add_totals(struct combine *c, const struct merge_outcome *o)
{
	vec_each(t, &o->totals)
		vec_push(&c->totals, *t);
}

int combine_add_outcome(struct combine *c, const void *bytes, size_t len)
{
	struct merge_outcome o = { 0 };
	int err = merge_parse(bytes, len, &o);

	err = err ?: spool_add_merged(&c->next, o.profile.at, o.profile.len);
	if (!err)
		add_totals(c, &o);
	merge_outcome_fini(&o);
	return err;
}

static bool is_batch(const struct spool *s)
{
	return s->nr_results >= COMBINE_RESULTS || s->len >= COMBINE_BYTES;
}

bool combine_is_full(const struct combine *c)
{
	return !c->holds && is_batch(&c->next) && c->work;
}

static void begin(struct combine *c)
{
	if (c->profile.len && spool_add_merged(&c->next, c->profile.at, c->profile.len)) {
		fail(c, "no memory");
		return;
	}
	c->merges = c->next;
	if (spool_open(&c->next))
		fail(c, "no memory");
	c->work = merge_begin_spool(c->workers, &c->merges, &c->order);
}

static void take_result(struct combine *c)
{
	struct merge_outcome o = { 0 };
	auto_str struct str bytes = { 0 }, why = { 0 };
	int err = merge_result(c->work, &bytes, &why);

	if (err == -EAGAIN)
		return;
	work_free(take(c->work));
	spool_close(&c->merges);
	if (!err && merge_parse(bytes.at, bytes.len, &o)) {
		err = -EBADMSG;
		str_add(&why, "the worker's answer is malformed");
	}
	if (err) {
		fail(c, why.at);
	} else {
		add_totals(c, &o);
		str_fini(&c->profile);
		c->profile = o.profile;
		o.profile = (struct str){ 0 };
	}
	merge_outcome_fini(&o);
}

void combine_step(struct combine *c, bool all)
{
	if (c->workers)
		workers_poll(c->workers);
	if (c->work)
		take_result(c);
	if (!c->work && !c->error && !c->holds && c->next.nr && (all || is_batch(&c->next)))
		begin(c);
}

bool combine_is_done(const struct combine *c)
{
	return c->error || (!c->work && !c->next.nr);
}
