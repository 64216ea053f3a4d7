/* SPDX-License-Identifier: Apache-2.0 */
/* Joins two profiles into a comparison. */
#include "profile/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "profile/count.h"

static const struct value_type *find_type(const struct profile *p, const struct value_type *type,
					  u32 *index)
{
	for (*index = 0; *index < p->types.nr; ++*index) {
		const struct value_type *t = &p->types.at[*index];
		if (!strcmp(t->name, type->name) && !strcmp(t->unit, type->unit))
			return t;
	}
	return NULL;
}

static bool is_wanted(const struct value_type *t, const char *event)
{
	return !event || value_type_is(t, event);
}

static bool has_weight(const struct profile *p, u32 type)
{
	vec_each(w, &p->weights)
		if (w->type == type && w->value)
			return true;
	return false;
}

/* The kind of value type to look for among the types that both profiles have. */
struct wanted {
	const char *event; /* NULL for any name */
	bool has_weight, are_samples;
};

static bool is_common(const struct profile *before, const struct profile *after, u32 b,
		      const struct wanted *wanted, struct diff_types *out)
{
	const struct value_type *t = &before->types.at[b];
	bool are_samples = !strcmp(t->unit, "samples") && !count_is_only(before, b);

	out->before = b;
	return (are_samples || !wanted->are_samples) && is_wanted(t, wanted->event) &&
	       find_type(after, t, &out->after) &&
	       (!wanted->has_weight || has_weight(before, b) || has_weight(after, out->after));
}

/*
 * Chooses the first type if both files show the same one first. Otherwise types of samples come
 * first, but not the sample counts of another type; then the order of `before` decides. A type
 * whose weights are all 0 is chosen only if there is no other.
 */
static bool find_common(const struct profile *before, const struct profile *after,
			const char *event, struct diff_types *out)
{
	for (int has_weight = 1; has_weight >= 0; has_weight--) {
		struct wanted wanted = { event, has_weight, false };
		if (!event && before->types.nr && is_common(before, after, 0, &wanted, out) &&
		    !out->after)
			return true;
		for (int are_samples = 1; are_samples >= 0; are_samples--) {
			wanted.are_samples = are_samples;
			for (u32 b = 0; b < before->types.nr; b++)
				if (is_common(before, after, b, &wanted, out))
					return true;
		}
	}
	return false;
}

/* Sysflame calls samples of CPU time "cpu"; perf calls them by the event's name. */
/*
 * Events that have several names. Cycles are not time: a CPU that sleeps or changes its clock has
 * other shares of them.
 */
enum measure {
	MEASURE_OTHER,
	MEASURE_TIME,
	MEASURE_CYCLES,
};

static enum measure measure_of(const char *name, size_t len)
{
	static const struct {
		const char *name;
		enum measure measure;
	} names[] = {
		{ "cpu", MEASURE_TIME },          { "cpu-clock", MEASURE_TIME },
		{ "task-clock", MEASURE_TIME },   { "cycles", MEASURE_CYCLES },
		{ "cpu-cycles", MEASURE_CYCLES },
	};
	static const char suffix[] = "-samples";
	size_t suffix_len = sizeof(suffix) - 1;

	if (len > suffix_len && !strncmp(name + len - suffix_len, suffix, suffix_len))
		len -= suffix_len;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i].name) == len && !strncmp(name, names[i].name, len))
			return names[i].measure;
	return MEASURE_OTHER;
}

static enum measure measure_of_type(const struct value_type *t)
{
	return measure_of(t->name, strlen(t->name));
}

static bool has_measure(const struct profile *p, enum measure measure)
{
	for (u32 i = 0; i < p->types.nr; i++)
		if (measure_of_type(&p->types.at[i]) == measure)
			return true;
	return false;
}

/* Whether `event` names `x` or `y`, which have the same unit, or is another name of one of them. */
static bool is_one_wanted(const struct value_type *x, const struct value_type *y, const char *event)
{
	if (is_wanted(x, event) || is_wanted(y, event))
		return true;
	const char *unit = strchr(event, '/');
	enum measure wanted = measure_of(event, strcspn(event, "/"));
	return wanted && (!unit || !strcmp(unit + 1, x->unit)) &&
	       (wanted == measure_of_type(x) || wanted == measure_of_type(y));
}

/* perf script gives no unit of cycles: they are "events". */
static bool is_same_unit(const struct value_type *x, const struct value_type *y)
{
	return !strcmp(x->unit, y->unit) ||
	       (measure_of_type(x) == MEASURE_CYCLES && measure_of_type(y) == MEASURE_CYCLES &&
		strcmp(x->unit, "samples") != 0 && strcmp(y->unit, "samples") != 0);
}

/*
 * Also pairs types of different names: collapsed stacks do not name the event of their samples. CPU
 * time in `unit` has several names, and so have cycles.
 */
static bool find_alike(const struct profile *before, const struct profile *after, const char *event,
		       const char *unit, struct diff_types *out)
{
	for (u32 b = 0; b < before->types.nr; b++)
		for (u32 a = 0; a < after->types.nr; a++) {
			const struct value_type *x = &before->types.at[b];
			const struct value_type *y = &after->types.at[a];
			*out = (struct diff_types){ b, a };
			if (is_same_unit(x, y) &&
			    (!strcmp(x->name, "samples") || !strcmp(y->name, "samples") ||
			     (!strcmp(x->unit, unit) && measure_of_type(x) &&
			      measure_of_type(x) == measure_of_type(y))) &&
			    is_one_wanted(x, y, event))
				return true;
		}
	return false;
}

/*
 * Whether the first types of both profiles count cycles in the same unit. They are compared then
 * even if their names differ. Without this, find_common would pair the types that have equal names:
 * the numbers of samples.
 */
static bool are_first_cycles(const struct profile *before, const struct profile *after,
			     struct diff_types *out)
{
	*out = (struct diff_types){ 0 };
	return before->types.nr && after->types.nr &&
	       measure_of_type(&before->types.at[0]) == MEASURE_CYCLES &&
	       measure_of_type(&after->types.at[0]) == MEASURE_CYCLES &&
	       is_same_unit(&before->types.at[0], &after->types.at[0]);
}

int diff_choose(const struct profile *before, const struct profile *after, const char *event,
		struct diff_types *out, struct str *others, struct str *why)
{
	struct diff_types chosen;
	u32 unused;

	if (profile_is_diff(before) || profile_is_diff(after)) {
		str_add(why, "one of the two is a comparison itself");
		return -EINVAL;
	}
	if (!(!event && are_first_cycles(before, after, &chosen)) &&
	    !find_common(before, after, event, &chosen) &&
	    !find_alike(before, after, event, "samples", &chosen) &&
	    !find_alike(before, after, event, "ns", &chosen) &&
	    !find_alike(before, after, event, "cycles", &chosen) &&
	    !find_alike(before, after, event, "events", &chosen)) {
		if (event)
			str_addf(why, "%s is not in both: ", event);
		else
			str_add(why, "they count different things: ");
		profile_name_types(before, why);
		str_add(why, " and ");
		profile_name_types(after, why);
		if ((has_measure(before, MEASURE_TIME) && has_measure(after, MEASURE_CYCLES)) ||
		    (has_measure(before, MEASURE_CYCLES) && has_measure(after, MEASURE_TIME)))
			str_add(why, "; cycles are no time: record the same event for both");
		return -EINVAL;
	}
	for (u32 b = 0; b < before->types.nr; b++) {
		const struct value_type *t = &before->types.at[b];
		if (b != chosen.before && !count_is_only(before, b) && find_type(after, t, &unused))
			str_addf(others, "%s%s/%s", others->len ? ", " : "", t->name, t->unit);
	}
	*out = chosen;
	return 0;
}

/* The length of a process frame's name without its number; 0 if it has no number. */
static size_t len_without_number(const struct frame *f)
{
	size_t end = strlen(f->name), at = end;

	while (at > 0 && f->name[at - 1] >= '0' && f->name[at - 1] <= '9')
		at--;
	bool is_process = f->kind == FRAME_GROUP || (f->kind == FRAME_NATIVE && !*f->module);
	if (!is_process || at == end || at < 2)
		return 0;
	if (at > 3 && !strncmp(f->name + at - 3, " - ", 3))
		return at - 3;
	return f->name[at - 1] == '-' ? at - 1 : 0;
}

/* The names of a profile's roots, sorted; the profile owns them. */
struct root_names {
	VEC(const char *) all;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void find_root_names(const struct profile *p, struct root_names *out)
{
	for (node_id n = 1; n < p->nodes.nr; n++)
		if (!p->nodes.at[n].parent)
			vec_push(&out->all, frames_get(p->frames, p->nodes.at[n].frame)->name);
	if (out->all.nr)
		qsort(out->all.at, out->all.nr, sizeof(out->all.at[0]), by_text);
}

static bool has_root(const struct root_names *names, const char *name)
{
	return names->all.nr &&
	       bsearch(&name, names->all.at, names->all.nr, sizeof(names->all.at[0]), by_text);
}

static frame_id root_of(struct profile *out, const struct frame *f, const struct root_names *other)
{
	size_t len = len_without_number(f);

	if (!len || has_root(other, f->name))
		return frames_intern(out->frames, f->kind, f->name, f->module);
	char *name = xstrndup(f->name, len);
	frame_id id = frames_intern(out->frames, f->kind, name, f->module);
	free(name);
	return id;
}

static void add_all(struct profile *out, const struct profile *p, const struct profile *other,
		    u32 type, u32 out_type)
{
	node_id *node_of = xcalloc(p->nodes.nr, sizeof(node_of[0]));
	labels_id none = profile_intern_labels(out, &(struct labels){ 0 });
	struct root_names roots = { 0 };

	find_root_names(other, &roots);
	for (node_id n = 1; n < p->nodes.nr; n++) {
		const struct frame *f = frames_get(p->frames, p->nodes.at[n].frame);
		node_id parent = p->nodes.at[n].parent;
		frame_id frame = parent ? frames_intern(out->frames, f->kind, f->name, f->module)
					: root_of(out, f, &roots);
		node_of[n] = profile_child(out, node_of[parent], frame);
	}
	vec_each(w, &p->weights)
		if (w->type == type)
			profile_add(out, node_of[w->node], none, out_type, w->value);
	vec_fini(&roots.all);
	free(node_of);
}

static void add_notes(struct profile *out, const struct profile *p, const char *when)
{
	vec_each(n, &p->notes) {
		char *key = xasprintf("%s_%s", when, n->key);
		char *text = xasprintf("%s (%s)", n->text, when);
		profile_note(out, key, text, n->value);
		free(key);
		free(text);
	}
}

static void add_type(struct profile *out, const struct value_type *t, enum value_role role)
{
	bool is_after = role == VALUE_AFTER || role == VALUE_NR_AFTER;
	char *name = xasprintf("%s %s", t->name, is_after ? "after" : "before");
	u32 index = profile_add_type(out, name, t->unit);

	out->types.at[index].role = role;
	free(name);
}

void profile_diff(const struct profile *before, const struct profile *after,
		  const struct diff_types *types, struct profile *out)
{
	struct diff_types nr;

	add_type(out, &after->types.at[types->after], VALUE_AFTER);
	add_type(out, &before->types.at[types->before], VALUE_BEFORE);
	add_all(out, after, before, types->after, 0);
	add_all(out, before, after, types->before, 1);
	bool is_counted = count_find(before, types->before, &nr.before) &&
			  count_find(after, types->after, &nr.after);
	if (is_counted && (nr.before != types->before || nr.after != types->after)) {
		add_type(out, &after->types.at[nr.after], VALUE_NR_AFTER);
		add_type(out, &before->types.at[nr.before], VALUE_NR_BEFORE);
		add_all(out, after, before, nr.after, 2);
		add_all(out, before, after, nr.before, 3);
	}
	add_notes(out, before, "before");
	add_notes(out, after, "after");
	out->start_wall_ns = after->start_wall_ns;
	out->duration_ns = after->duration_ns;
}

static const char *const role_names[NR_VALUE_ROLES] = {
	[VALUE_NONE] = "",
	[VALUE_AFTER] = "after",
	[VALUE_BEFORE] = "before",
	[VALUE_NR_AFTER] = "nr_after",
	[VALUE_NR_BEFORE] = "nr_before",
};

const char *diff_role_name(enum value_role role)
{
	return role_names[role];
}

enum value_role diff_role_of(const char *name)
{
	for (u32 role = VALUE_AFTER; name && role < NR_VALUE_ROLES; role++)
		if (!strcmp(name, role_names[role]))
			return (enum value_role)role;
	return VALUE_NONE;
}

static bool has_nr(const struct profile *p)
{
	return p->types.nr == 4 && p->types.at[2].role == VALUE_NR_AFTER &&
	       p->types.at[3].role == VALUE_NR_BEFORE;
}

bool profile_is_diff(const struct profile *p)
{
	return (p->types.nr == 2 || has_nr(p)) && p->types.at[0].role == VALUE_AFTER &&
	       p->types.at[1].role == VALUE_BEFORE;
}

void diff_settle(struct profile *p)
{
	if (!profile_is_diff(p))
		vec_each(type, &p->types)
			type->role = VALUE_NONE;
}

bool diff_has_counts(const struct profile *p)
{
	u32 unused;

	return has_nr(p) || (profile_is_diff(p) && count_find(p, 0, &unused));
}

struct diff_types diff_counts(const struct profile *p)
{
	return has_nr(p) ? (struct diff_types){ .after = 2, .before = 3 }
			 : (struct diff_types){ .after = 0, .before = 1 };
}

bool diff_is_before(const struct profile *p, u32 type)
{
	return profile_is_diff(p) && (type == 1 || type == 3);
}

char *diff_type_name(const struct profile *p, u32 type)
{
	const char *name = p->types.at[type].name;
	const char *word = diff_is_before(p, type) ? " before" : " after";
	size_t len = strlen(name), word_len = strlen(word);

	if (!profile_is_diff(p) || len <= word_len || strcmp(name + len - word_len, word) != 0)
		return xstrdup(name);
	return xstrndup(name, len - word_len);
}

struct diff_types diff_find_types(struct profile *p, const struct value_type *t, bool are_counts)
{
	auto_free char *after = xasprintf("%s after", t->name),
		       *before = xasprintf("%s before", t->name);
	struct diff_types types = { .after = profile_find_type(p, after, t->unit) };

	types.before = profile_find_type(p, before, t->unit);
	p->types.at[types.after].role = are_counts ? VALUE_NR_AFTER : VALUE_AFTER;
	p->types.at[types.before].role = are_counts ? VALUE_NR_BEFORE : VALUE_BEFORE;
	return types;
}

/* The variance of a sum of `nr` samples of equal weight. */
static double variance(struct sampled s)
{
	return s.nr ? (double)s.weight * (double)s.weight / (double)s.nr : 0;
}

static double sigmas_of_counts(struct sampled before, struct sampled after)
{
	double change = (double)after.weight - (double)before.weight;

	return change != 0 ? fabs(change) / sqrt(variance(after) + variance(before)) : 0;
}

#define SAME_SHARE 1e-9 /* tolerance for rounding: shares closer than that count as equal */

/* Twice a term of the logarithm of a likelihood. */
static double deviance(double seen, double due)
{
	return seen > 0 ? 2 * seen * log(seen / due) : 0;
}

/*
 * A factor of at most 1 for the standard deviations of a part with few samples, whose distribution
 * is not normal. Example: one side has a tenth of all samples, and both samples of the part are on
 * that side. That happens by chance once in 100 times, but counts as 4.5 standard deviations. The
 * likelihood ratio gives 3.1, so the factor is 3.1 / 4.5.
 */
static double correct_for_few(const struct sampled_pair *part, const struct sampled_pair *whole)
{
	double b = (double)part->before.nr, a = (double)part->after.nr;
	double nr_b = (double)whole->before.nr, nr_a = (double)whole->after.nr;
	double hit = (b + a) / (nr_b + nr_a), rest = 1 - hit;
	double error = sqrt(hit * rest * (1 / nr_b + 1 / nr_a));
	double sigmas = fabs(a / nr_a - b / nr_b) / error;
	double ratio = deviance(b, hit * nr_b) + deviance(a, hit * nr_a) +
		       deviance(nr_b - b, rest * nr_b) + deviance(nr_a - a, rest * nr_a);

	return sigmas > 0 && ratio > 0 ? fmin(1, sqrt(ratio) / sigmas) : 1;
}

/*
 * Two proportions with a pooled variance, as if both sides had the same share. If the samples of
 * the part weigh more or less than the others, its share of the weight spreads accordingly.
 */
static double sigmas_of_shares(const struct sampled_pair *part, const struct sampled_pair *whole)
{
	double before = (double)part->before.weight / (double)whole->before.weight;
	double after = (double)part->after.weight / (double)whole->after.weight;
	double nr_before = (double)whole->before.nr, nr_after = (double)whole->after.nr;
	double nr = nr_before + nr_after, change = fabs(after - before);
	double hit = ((double)part->before.nr + (double)part->after.nr) / nr,
	       spread = hit * (1 - hit);
	double share = (nr_before * before + nr_after * after) / nr;

	if (change <= SAME_SHARE)
		return 0;
	if (!(spread > 0))
		return INFINITY;
	double size = share * (1 - share) / spread; /* 1 if all samples weigh the same */
	double error = size * sqrt(spread * (1 / nr_before + 1 / nr_after));
	return change * (1 + SAME_SHARE) / error * correct_for_few(part, whole);
}

double diff_sigmas(const struct sampled_pair *part, const struct sampled_pair *whole)
{
	if (!whole || !whole->before.weight || !whole->after.weight)
		return sigmas_of_counts(part->before, part->after);
	return sigmas_of_shares(part, whole);
}

#define FALSE_PART 0.05

static int largest_first(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

double diff_limit(double *sigmas, size_t nr)
{
	double limit = INFINITY;

	if (nr)
		qsort(sigmas, nr, sizeof(sigmas[0]), largest_first);
	for (size_t i = 0; i < nr; i++) {
		double p = erfc(sigmas[i] * M_SQRT1_2);
		if (p > FALSE_PART)
			break;
		if (p <= FALSE_PART * (double)(i + 1) / (double)nr)
			limit = sigmas[i];
	}
	return limit;
}

#define VIEW_BY_COUNTS "norm=0" /* as in the page's address */

bool diff_is_by_counts(const struct profile *p)
{
	return strstr(p->view, VIEW_BY_COUNTS);
}

void diff_by_counts(struct profile *p)
{
	char *old = p->view;

	p->view = xasprintf("%s%s" VIEW_BY_COUNTS, old, *old ? "&" : "");
	free(old);
}
