/* SPDX-License-Identifier: Apache-2.0 */
/* Merges several files: their stacks, and the facts about their recordings. */
#include "export/merge.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/format/varint.h"
#include "export/interchange/external.h"
#include "profile/slots.h"

#define SAME_RATE 1e-4 /* formats keep the period in whole nanoseconds */

static u64 count_cpu(const struct profile *p)
{
	u64 nr = 0;

	for (u32 type = 0; type < p->types.nr; type++)
		if (type_is_cpu(&p->types.at[type]))
			nr += profile_total(p, type);
	return nr;
}

void merge_begin(struct profile *p, struct merge *m)
{
	*m = (struct merge){ .start_wall_ns = p->start_wall_ns,
			     .duration_ns = p->duration_ns,
			     .rate_hz = p->rate_hz,
			     .nr_cpu = count_cpu(p) };
	memcpy(&m->notes, &p->notes, sizeof(m->notes));
	memset(&p->notes, 0, sizeof(p->notes));
	p->start_wall_ns = p->duration_ns = 0;
	p->rate_hz = 0;
}

/* Adds the file's notes to the earlier ones, which stay first. */
static void merge_notes(struct profile *p, struct merge *m)
{
	typeof(m->notes) later;

	memcpy(&later, &p->notes, sizeof(later));
	memcpy(&p->notes, &m->notes, sizeof(p->notes));
	vec_each(n, &later) {
		const struct note *old = profile_find_note(p, n->key);
		u64 before = old ? old->value : 0;
		profile_note(p, n->key, n->text,
			     n->value > INT64_MAX - before ? INT64_MAX : before + n->value);
		free(n->key);
		free(n->text);
	}
	vec_fini(&later);
}

/* The rate concerns samples of CPU: a side without such samples does not count. */
static void merge_rates(struct profile *p, const struct merge *m)
{
	bool adds = count_cpu(p) > m->nr_cpu;

	if (!adds)
		p->rate_hz = m->rate_hz > 0 ? m->rate_hz : p->rate_hz;
	else if (m->nr_cpu && fabs(p->rate_hz - m->rate_hz) > SAME_RATE * m->rate_hz)
		p->rate_hz = 0;
}

void merge_end(struct profile *p, struct merge *m)
{
	merge_notes(p, m);
	profile_add_span(p, m->start_wall_ns, m->duration_ns);
	merge_rates(p, m);
	*m = (struct merge){ 0 };
}

/* Copies the stacks of a profile. Its slots get another start and another width. */
struct copying {
	struct profile *out;
	const struct profile *from;
	u64 start_wall_ns, slot_ns; /* start and slot width of `out` */
	struct naming *names;       /* NULL: frames stay as they are */
	merge_label_fn label;       /* NULL: none */
	void *ctx;
};

static labels_id copy_labels(const struct copying *c, const struct labels *labels)
{
	struct labels own = *labels;
	char time[SLOTS_TEXT_BYTES];
	struct slots slots;

	if (!c->slot_ns) {
		own.time = "";
	} else if (c->from->slot_ns && slots_parse(own.time, &slots)) {
		u64 since_ns = c->from->start_wall_ns - c->start_wall_ns, width_ns = c->slot_ns;
		u64 nr = slots.end - slots.first;
		nr = nr > 1 ? nr * c->from->slot_ns / width_ns : nr;
		slots.first = (since_ns + slots.first * c->from->slot_ns) / width_ns;
		slots.end = slots.first + (nr ?: 1);
		slots_text(&slots, time);
		own.time = time;
	}
	if (c->label)
		c->label(&own, c->ctx);
	return profile_intern_labels(c->out, &own);
}

static void copy_weights(const struct copying *c, const u32 *types, const node_id *nodes)
{
	const struct profile *p = c->from;
	labels_id *labels = xcalloc(p->labels.nr + 1, sizeof(labels[0]));

	for (labels_id id = 0; id < p->labels.nr; id++)
		labels[id] = copy_labels(c, &p->labels.at[id]);
	vec_each(w, &p->weights)
		profile_add(c->out, nodes[w->node], labels[w->labels], types[w->type], w->value);
	free(labels);
}

static void copy_stacks(const struct copying *c)
{
	const struct profile *p = c->from;
	struct naming *raw = c->names ? NULL : naming_new(p->frames, c->out->frames, NAMES_RAW);
	node_id *nodes = xcalloc(p->nodes.nr, sizeof(nodes[0]));
	u32 *types = xcalloc(p->types.nr + 1, sizeof(types[0]));

	for (u32 type = 0; type < p->types.nr; type++) {
		const struct value_type *t = &p->types.at[type];
		types[type] = profile_find_type(c->out, t->name, t->unit);
		c->out->types.at[types[type]].role = t->role;
	}
	naming_copy_nodes(c->names ?: raw, p, c->out, nodes);
	copy_weights(c, types, nodes);
	vec_each(h, &p->hidden) {
		const struct frame f = { .name = h->name, .module = h->module, .kind = h->kind };
		profile_hide(c->out, &f, types[h->type], h->value);
	}
	naming_free(raw);
	free(nodes);
	free(types);
}

/* Returns a new profile with the stacks of both. `b` may be NULL. */
static struct profile *copy_both(const struct profile *a, const struct profile *b,
				 u64 start_wall_ns)
{
	struct copying c = { .out = profile_new(),
			     .start_wall_ns = start_wall_ns,
			     .slot_ns = a->slot_ns };

	if (frames_keeps_lines(a->frames))
		frames_keep_lines(c.out->frames);
	if (frames_keeps_signatures(a->frames))
		frames_keep_signatures(c.out->frames);
	c.from = a;
	copy_stacks(&c);
	c.from = b;
	if (b)
		copy_stacks(&c);
	return c.out;
}

static int check_sums(const struct profile *a, const struct profile *b, struct str *why)
{
	for (u32 type = 0; type < b->types.nr; type++)
		for (u32 of = 0; of < a->types.nr; of++)
			if (!strcmp(a->types.at[of].name, b->types.at[type].name) &&
			    !strcmp(a->types.at[of].unit, b->types.at[type].unit) &&
			    profile_total(a, of) > VARINT_MAX - profile_total(b, type)) {
				str_add(why, "the weights add up to more than 2^53 - 1");
				return -EINVAL;
			}
	return 0;
}

static void take_text(char **to, char **from)
{
	char *old = *to;

	if (!**from)
		return;
	*to = *from;
	*from = old;
}

/* Merges the facts of `file`, whose stacks `p` has, into those of `p`. */
static void take_facts(struct profile *p, struct profile *file, struct merge *earlier)
{
	memcpy(&p->notes, &file->notes, sizeof(p->notes));
	memset(&file->notes, 0, sizeof(file->notes));
	p->start_wall_ns = file->start_wall_ns;
	p->duration_ns = file->duration_ns;
	p->rate_hz = file->rate_hz;
	take_text(&p->title, &file->title);
	take_text(&p->host, &file->host);
	take_text(&p->target, &file->target);
	take_text(&p->view, &file->view);
	merge_end(p, earlier);
}

void merge_stacks(struct profile *p, const struct profile *file, struct naming *names,
		  merge_label_fn label, void *ctx)
{
	const struct copying c = {
		.out = p, .from = file, .names = names, .label = label, .ctx = ctx
	};

	copy_stacks(&c);
}

int merge_timed(struct profile *p, struct profile *file, struct str *why)
{
	struct merge earlier;
	u64 start = p->start_wall_ns && p->start_wall_ns < file->start_wall_ns
			    ? p->start_wall_ns
			    : file->start_wall_ns;
	int err = check_sums(p, file, why);

	if (err)
		return err;
	/* If the start of one file is unknown, both files count as starting together. */
	if (!p->start_wall_ns || !file->start_wall_ns)
		start = p->start_wall_ns = file->start_wall_ns =
			p->start_wall_ns ?: file->start_wall_ns;
	struct profile *both = copy_both(p, file, start);
	merge_begin(p, &earlier);
	profile_swap_stacks(p, both);
	profile_free(both);
	take_facts(p, file, &earlier);
	return 0;
}

void merge_shift(struct profile *p, u64 start_wall_ns)
{
	u64 merged = p->start_wall_ns;

	if (!p->slot_ns || !start_wall_ns || merged >= start_wall_ns)
		return;
	p->start_wall_ns = start_wall_ns; /* the start that its slots count from */
	struct profile *shifted = copy_both(p, NULL, merged);
	profile_swap_stacks(p, shifted);
	profile_free(shifted);
	p->start_wall_ns = merged;
}
