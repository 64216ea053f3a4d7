/* SPDX-License-Identifier: Apache-2.0 */
/* A profile that a recording feeds. */
#include "capture/samples/sink.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

struct sink {
	struct sink_options options;
	struct sink_model model;
	struct levels levels;
	u32 types[ABI_EVENTS];
	VEC(struct cut *) cuts;    /* in the order of time */
	struct sample_counts past; /* counts of cuts that were handed over */
};

struct sink *sink_new(const struct sink_options *options, const struct sink_model *model,
		      const struct levels *levels)
{
	struct sink *k = xcalloc(1, sizeof(*k));

	k->options = *options;
	k->model = *model;
	k->levels = *levels;
	k->levels.list = options->levels;
	k->levels.thread = options->thread;
	k->levels.has_services = options->has_services;
	k->levels.requests = options->requests;
	return k;
}

void sink_free(struct sink *k)
{
	if (!k)
		return;
	vec_each(c, &k->cuts)
		cut_free(*c);
	vec_fini(&k->cuts);
	free(k);
}

/* A new, empty profile with host, target, rate and slot length filled in. */
static struct profile *new_profile(struct sink *k)
{
	struct profile *p = profile_new_sharing(k->model.frames);
	char host[256] = "";

	p->slot_ns = k->options.slot_ns;
	gethostname(host, sizeof(host) - 1);
	free(p->host);
	p->host = xstrdup(host);
	free(p->target);
	p->target = xstrdup(k->model.target);
	p->rate_hz = k->model.rate_hz;
	events_add_types(k->model.events, p, k->types);
	return p;
}

void sink_begin(struct sink *k, u64 begin_ns, const struct loss_counts *now)
{
	struct cut *c = cut_new(new_profile(k), begin_ns, k->levels.jvms);

	c->profile->start_wall_ns = time_wall_ns() - (time_mono_ns() - begin_ns);
	c->before = *now;
	vec_push(&k->cuts, c);
}

void sink_end(struct sink *k, u64 now_ns, const struct loss_counts *now)
{
	if (!k->cuts.nr)
		return;
	struct cut *last = k->cuts.at[k->cuts.nr - 1];
	u64 begin_ns = last->span.begin_ns;

	last->span.end_ns = begin_ns < now_ns ? now_ns : begin_ns;
	last->profile->duration_ns = last->span.end_ns - begin_ns;
	loss_counts_between(&last->before, now, &last->losses);
}

void sink_split(struct sink *k, u64 now_ns, const struct loss_counts *now)
{
	sink_end(k, now_ns, now);
	sink_begin(k, now_ns, now);
}

struct cut *sink_at(const struct sink *k, u64 time_ns)
{
	size_t i = k->cuts.nr;

	while (i > 1 && k->cuts.at[i - 1]->span.begin_ns > time_ns)
		i--;
	return i ? k->cuts.at[i - 1] : NULL;
}

void sink_each(const struct sink *k, sink_cut_fn visit, void *ctx)
{
	vec_each(c, &k->cuts)
		visit(*c, ctx);
}

void sink_forget(struct sink *k, struct process *p)
{
	vec_each(c, &k->cuts)
		levels_settle_program(sink_levels(k, *c), p);
}

struct cut *sink_settle(struct sink *k, u64 settled_ns, const struct processes *processes)
{
	if (!k->cuts.nr || k->cuts.at[0]->span.end_ns > settled_ns)
		return NULL;
	struct cut *c = k->cuts.at[0];

	k->cuts.nr--;
	memmove(&k->cuts.at[0], &k->cuts.at[1], k->cuts.nr * sizeof(k->cuts.at[0]));
	traces_release(&c->traces, c->profile);
	levels_settle(sink_levels(k, c), processes);
	profile_own_frames(c->profile);
	sample_counts_add(&k->past, &c->counts);
	return c;
}

struct levels *sink_levels(struct sink *k, struct cut *c)
{
	k->levels.profile = c->profile;
	k->levels.threads = &c->threads;
	k->levels.programs = &c->programs;
	k->levels.traces = &c->traces;
	k->levels.nodes = &c->levels;
	k->levels.begin_ns = c->span.begin_ns;
	return &k->levels;
}

bool sink_keeps_traces(const struct sink *k)
{
	return k->options.requests == REQUEST_TRACES;
}

u32 sink_type(const struct sink *k, u32 event)
{
	return k->types[event];
}

struct sample_counts sink_counts(const struct sink *k)
{
	struct sample_counts sum = k->past;

	vec_each(c, &k->cuts)
		sample_counts_add(&sum, &(*c)->counts);
	return sum;
}
