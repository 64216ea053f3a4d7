/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a sample of nodes become estimates for all. */
#include "fleet/scale.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

/* A type's estimates and raw values. */
struct scaled {
	bool is_raw;  /* a number of samples: not scaled */
	bool has_raw; /* another type keeps its raw values already */
	u32 raw;      /* the new type for them */
	double carry; /* lost by rounding so far */
};

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), nr = strlen(end);

	return len > nr && !strcmp(text + len - nr, end);
}

static bool has_type(const struct profile *p, const char *name)
{
	vec_each(t, &p->types)
		if (!strcmp(t->name, name))
			return true;
	return false;
}

static void plan(struct profile *p, u32 nr, struct scaled *all)
{
	for (u32 t = 0; t < nr; t++) {
		auto_free char *name = xstrdup(p->types.at[t].name);
		auto_free char *unit = xstrdup(p->types.at[t].unit);
		auto_free char *samples = xasprintf("%s-samples", name);
		all[t].is_raw = ends_in(name, "-samples") || ends_in(name, "-raw");
		all[t].has_raw = has_type(p, samples);
		if (all[t].is_raw || all[t].has_raw)
			continue;
		auto_free char *raw = xasprintf("%s-raw", name);
		bool are_samples = !strcmp(unit, "samples");
		all[t].raw = profile_find_type(p, are_samples ? samples : raw, unit);
	}
}

static u64 scale(u64 value, double factor, double *carry)
{
	double exact = (double)value * factor + *carry;
	u64 rounded = exact >= 0x1p63 ? 1ull << 63 : exact > 0.5 ? (u64)(exact + 0.5) : 0;

	*carry = exact - (double)rounded;
	return rounded;
}

void profile_scale(struct profile *p, double factor, double carry[SCALE_TYPES])
{
	u32 nr = (u32)p->types.nr;
	size_t nr_weights = p->weights.nr;
	struct scaled *all = xcalloc(nr + 1, sizeof(all[0]));

	plan(p, nr, all);
	for (u32 t = 0; t < nr && t < SCALE_TYPES; t++)
		all[t].carry = carry[t];
	for (size_t i = 0; i < nr_weights; i++) {
		struct weight w = p->weights.at[i];
		struct scaled *s = &all[w.type];
		if (s->is_raw)
			continue;
		p->weights.at[i].value = scale(w.value, factor, &s->carry);
		if (!s->has_raw)
			profile_add(p, w.node, w.labels, s->raw, w.value);
	}
	for (u32 t = 0; t < nr && t < SCALE_TYPES; t++)
		carry[t] = all[t].carry;
	free(all);
}
