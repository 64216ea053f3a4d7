/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the number of samples behind weights. */
#include "profile/count.h"

#include <string.h>

#include "base/time.h"

/*
 * The length of NAME in "NAME-UNIT" ("lock" of "lock-waits" in waits); 0 if the name does not end
 * in the unit.
 */
static size_t len_without_unit(const struct value_type *t)
{
	size_t len = strlen(t->name), unit = strlen(t->unit);
	bool has_unit = len > unit + 1 && t->name[len - unit - 1] == '-' &&
			!strcmp(t->name + len - unit, t->unit);

	return has_unit ? len - unit - 1 : 0;
}

static bool is_of(const struct value_type *t, const char *name, size_t len)
{
	return !strncmp(t->name, name, len) && (!t->name[len] || len_without_unit(t) == len);
}

static bool find_in(const struct profile *p, u32 type, const char *unit, u32 *out)
{
	const struct value_type *of = &p->types.at[type];
	size_t len = len_without_unit(of) ?: strlen(of->name);

	for (u32 i = 0; i < p->types.nr; i++) {
		const struct value_type *t = &p->types.at[i];
		if (i != type && !strcmp(t->unit, unit) && is_of(t, of->name, len)) {
			*out = i;
			return true;
		}
	}
	return false;
}

bool count_find(const struct profile *p, u32 type, u32 *out)
{
	const char *unit = p->types.at[type].unit;

	*out = type;
	if (!strcmp(unit, "samples") || find_in(p, type, "samples", out) || !strcmp(unit, "hits"))
		return true;
	/*
	 * A wait shorter than the minimum stands for several. The number of waits is still better
	 * than none.
	 */
	return find_in(p, type, "waits", out);
}

u64 count_of(const struct profile *p, u32 type, u64 value, double rate_hz)
{
	const struct value_type *t = &p->types.at[type];
	u32 other;

	if (!strcmp(t->unit, "samples"))
		return value;
	if (find_in(p, type, "samples", &other))
		return 0;
	if (!strcmp(t->unit, "hits"))
		return value;
	bool is_time = !strcmp(t->name, "cpu") && !strcmp(t->unit, "ns");
	return is_time ? (u64)((double)value * rate_hz / NS_PER_SEC + 0.5) : 0;
}

bool count_is_only(const struct profile *p, u32 type)
{
	const struct value_type *t = &p->types.at[type];
	size_t len = strcmp(t->unit, "samples") ? 0 : len_without_unit(t);

	vec_each(of, &p->types)
		if (len && strlen(of->name) == len && !strncmp(of->name, t->name, len) &&
		    strcmp(of->unit, t->unit))
			return true;
	return false;
}

bool count_find_weighed(const struct profile *p, u32 *out)
{
	int best = 0;

	for (u32 i = 0; i < p->types.nr; i++) {
		bool is_alike = !strcmp(p->types.at[i].unit, p->types.at[0].unit);
		int rank = !profile_total(p, i) ? 0 : count_is_only(p, i) ? 1 : is_alike ? 3 : 2;
		if (rank > best) {
			best = rank;
			*out = i;
		}
	}
	return best > 0;
}
