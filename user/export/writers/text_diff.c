/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a comparison as text: the methods that weigh more or less, by more than chance.
 * Part of export/writers/text.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "export/writers/amount.h"
#include "export/writers/text.h"
#include "profile/diff.h"

struct change {
	frame_id frame;
	u64 before, after;             /* self weights */
	u64 total_before, total_after; /* weights of stacks that contain the method */
	double self, total; /* change of the share in per cent of the whole, or of the weight */
	double sigmas;      /* of chance; see profile/diff.h */
	bool is_chance;
};

struct changes {
	VEC(struct change) all;
	u64 before, after; /* totals */
	u64 total_nr_before, total_nr_after;
	u32 nr_noise; /* methods whose change may be chance */
	u32 nr_equal; /* methods without any change */
	enum text_diff_mode mode;
	bool has_counts; /* numbers of samples are known, so chance can be judged */
	struct hot_methods nr_before, nr_after; /* the numbers of samples, by name */
	bool by_counts;                         /* absolute weights are compared, not shares */
};

static int by_name(const void *a, const void *b, void *frames)
{
	const struct hot_method *x = a, *y = b;

	return strcmp(frames_get(frames, x->frame)->name, frames_get(frames, y->frame)->name);
}

static void methods_by_name(const struct profile *p, u32 type, struct hot_methods *out, u64 *total)
{
	auto_tree struct tree t;

	tree_make(p, type, &t);
	*total = t.nodes.at[0].total;
	hot_methods_make(p, &t, out);
	if (out->all.nr)
		qsort_r(out->all.at, out->all.nr, sizeof(out->all.at[0]), by_name, p->frames);
}

static double share(u64 part, u64 whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* The number of samples whose leaf is the method. */
static u64 nr_of(const struct profile *p, const struct hot_methods *methods, frame_id frame)
{
	struct hot_method key = { .frame = frame };
	size_t low = 0, high = methods->all.nr;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = by_name(&key, &methods->all.at[middle], p->frames);
		if (!order)
			return methods->all.at[middle].self;
		low = order > 0 ? middle + 1 : low;
		high = order > 0 ? high : middle;
	}
	return 0;
}

/* Without numbers of samples only equal weights count as unchanged. */
static double sigmas_of(const struct profile *p, const struct changes *c, const struct change *x)
{
	struct sampled_pair part = { { x->before, nr_of(p, &c->nr_before, x->frame) },
				     { x->after, nr_of(p, &c->nr_after, x->frame) } };
	struct sampled_pair whole = { { c->before, c->total_nr_before },
				      { c->after, c->total_nr_after } };

	if (!c->has_counts)
		return x->self == 0 ? 0 : INFINITY;
	return diff_sigmas(&part, c->by_counts ? NULL : &whole);
}

static void add_change(const struct profile *p, struct changes *c, const struct hot_method *b,
		       const struct hot_method *a)
{
	static const struct hot_method nothing;
	struct change change = { .frame = a ? a->frame : b->frame };

	b = b ?: &nothing;
	a = a ?: &nothing;
	if (!b->self && !a->self)
		return;
	change.before = b->self;
	change.after = a->self;
	change.total_before = b->total;
	change.total_after = a->total;
	change.self = c->by_counts ? (double)a->self - (double)b->self
				   : share(a->self, c->after) - share(b->self, c->before);
	change.total = c->by_counts ? (double)a->total - (double)b->total
				    : share(a->total, c->after) - share(b->total, c->before);
	change.sigmas = sigmas_of(p, c, &change);
	vec_push(&c->all, change);
}

/*
 * Decides, among all methods, which ones have changed. Drops the unchanged ones if the mode lists
 * changes only.
 */
static void judge(struct changes *c)
{
	double *sigmas = xcalloc(c->all.nr + 1, sizeof(sigmas[0]));
	size_t nr = 0;

	for (size_t i = 0; i < c->all.nr; i++)
		sigmas[i] = c->all.at[i].sigmas;
	double limit = diff_limit(sigmas, c->all.nr);
	free(sigmas);
	vec_each(x, &c->all) {
		x->is_chance = !(x->sigmas >= limit);
		c->nr_noise += x->is_chance;
		c->nr_equal += x->self == 0;
		if (!x->is_chance || c->mode != TEXT_DIFF_CHANGED)
			c->all.at[nr++] = *x;
	}
	c->all.nr = nr;
}

/* Both lists are sorted by name. */
static void join(const struct profile *p, const struct hot_methods *before,
		 const struct hot_methods *after, struct changes *c)
{
	size_t b = 0, a = 0;

	while (b < before->all.nr || a < after->all.nr) {
		int order = b == before->all.nr ? 1
			    : a == after->all.nr
				    ? -1
				    : by_name(&before->all.at[b], &after->all.at[a], p->frames);
		add_change(p, c, order <= 0 ? &before->all.at[b] : NULL,
			   order >= 0 ? &after->all.at[a] : NULL);
		b += order <= 0;
		a += order >= 0;
	}
}

/* Splits a key of a comparison's note: "before_lost" is "lost" of one side. NULL for other keys. */
static const char *key_of_side(const char *key, bool *is_after)
{
	static const char *const sides[] = { "before_", "after_" };

	for (int i = 0; i < 2; i++)
		if (!strncmp(key, sides[i], strlen(sides[i]))) {
			*is_after = i;
			return key + strlen(sides[i]);
		}
	return NULL;
}

static const struct note *find_side(const struct profile *p, const char *key, bool is_after)
{
	auto_free char *name = xasprintf("%s_%s", is_after ? "after" : "before", key);

	return profile_find_note(p, name);
}

static u64 value_of_side(const struct profile *p, const char *key, bool is_after)
{
	const struct note *n = find_side(p, key, is_after);

	return n ? n->value : 0;
}

/* Prints the notes about losses, both sides in one line. Those of a fleet have another place. */
static void print_notes(const struct profile *p, FILE *out)
{
	vec_each(n, &p->notes) {
		bool is_after;
		const char *key = key_of_side(n->key, &is_after);
		if (!key || (is_after && find_side(p, key, false)) || !strcmp(key, "samples") ||
		    !strcmp(key, "frames") || !strncmp(key, "fleet-", strlen("fleet-")))
			continue;
		u64 before = value_of_side(p, key, false), after = value_of_side(p, key, true);
		const char *end = strrchr(n->text, '(');
		size_t len = end && end > n->text ? (size_t)(end - n->text) - 1 : strlen(n->text);
		if (before || after)
			fprintf(out, "%llu before, %llu after: %.*s\n", (unsigned long long)before,
				(unsigned long long)after, (int)len, n->text);
	}
}

static double size_of(const struct change *x, enum text_diff_mode mode)
{
	if (mode == TEXT_DIFF_CHANGED)
		return x->self < 0 ? -x->self : x->self;
	return (double)(mode == TEXT_DIFF_BEFORE ? x->before : x->after);
}

static int by_size(const void *a, const void *b, void *mode)
{
	const struct change *x = a, *y = b;
	double p = size_of(x, *(enum text_diff_mode *)mode);
	double q = size_of(y, *(enum text_diff_mode *)mode);

	return p > q ? -1 : p < q ? 1 : x->frame < y->frame ? -1 : x->frame > y->frame;
}

static void print_change(const struct profile *p, const struct changes *c, const struct change *x,
			 size_t width, FILE *out)
{
	auto_str struct str line = { 0 };
	const struct frame *f = frames_get(p->frames, x->frame);
	bool is_java = f->kind >= FRAME_INTERPRETED && f->kind <= FRAME_INLINED;

	if (c->by_counts)
		str_addf(&line, "%9llu %9llu %+10.0f %+10.0f   ", (unsigned long long)x->before,
			 (unsigned long long)x->after, x->self, x->total);
	else
		str_addf(&line, "%7.2f %% %7.2f %% %+8.2f %% %+8.2f %%   ",
			 share(x->before, c->before), share(x->after, c->after), x->self, x->total);
	if (x->is_chance)
		str_add(&line, "chance: ");
	else if (!x->total_before)
		str_add(&line, "new: ");
	else if (!x->total_after)
		str_add(&line, "gone: ");
	size_t used = text_width(line.at);
	short_name_add(&line, f->name, is_java, width > used + 16 ? width - used : 16);
	fprintf(out, "%s\n", line.at);
}

static void print_rest(const struct changes *c, FILE *out)
{
	if (!c->all.nr && c->nr_equal && c->nr_equal == c->nr_noise)
		fprintf(out, "nothing differs: all methods kept their %s\n",
			c->by_counts ? "weight" : "share");
	else if (c->nr_noise && c->has_counts)
		fprintf(out, "%u more differ by no more than chance (Benjamini-Hochberg, 5 %%)\n",
			c->nr_noise);
}

void text_diff(const struct profile *p, enum text_diff_mode mode, size_t nr, size_t width,
	       FILE *out)
{
	auto_hot_methods struct hot_methods before, after;
	auto_str struct str b = { 0 }, a = { 0 };
	struct changes c = { .by_counts = diff_is_by_counts(p),
			     .mode = mode,
			     .has_counts = diff_has_counts(p) };
	struct diff_types nr_types = diff_counts(p);
	static const char *const orders[] = { "change of self", "self before", "self after" };

	methods_by_name(p, 1, &before, &c.before);
	methods_by_name(p, 0, &after, &c.after);
	methods_by_name(p, nr_types.before, &c.nr_before, &c.total_nr_before);
	methods_by_name(p, nr_types.after, &c.nr_after, &c.total_nr_after);
	join(p, &before, &after, &c);
	judge(&c);
	if (c.all.nr)
		qsort_r(c.all.at, c.all.nr, sizeof(c.all.at[0]), by_size, &mode);
	amount_add(&b, c.before, p->types.at[1].unit);
	amount_add(&a, c.after, p->types.at[0].unit);
	fprintf(out, "%s before, %s after (%s); %s, by %s%s\n", b.at, a.at, p->types.at[0].unit,
		c.by_counts ? "absolute weights" : "shares of each", orders[mode],
		c.has_counts ? "" : "; chance unknown: the numbers of samples are missing");
	fprintf(out, "%9s %9s %10s %10s   %s\n", "BEFORE", "AFTER", "SELF", "TOTAL", "METHOD");
	for (size_t i = 0; i < nr && i < c.all.nr; i++)
		print_change(p, &c, &c.all.at[i], width, out);
	if (c.all.nr > nr)
		fprintf(out, "%zu more%s\n", c.all.nr - nr,
			mode == TEXT_DIFF_CHANGED ? " changed" : "");
	if (mode == TEXT_DIFF_CHANGED)
		print_rest(&c, out);
	print_notes(p, out);
	vec_fini(&c.all);
	hot_methods_fini(&c.nr_before);
	hot_methods_fini(&c.nr_after);
}
