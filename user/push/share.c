/* SPDX-License-Identifier: Apache-2.0 */
/* A share of all minutes for receivers. */
#include "push/share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/dict.h"

#define ONE_IN_MAX     10000
#define MEAN_MILLI_MAX (100 * 1000 * 1000)

static int wrong(struct str *why)
{
	str_add(why, "takes 1/N with N up to 10000, or 1/N@CPUS with the CPUs that a node uses in "
		     "the mean, as in 1/20@3.5");
	return -EINVAL;
}

int push_share_parse(const char *text, struct push_share *out, struct str *why)
{
	char *end;

	*out = PUSH_SHARE_ALL;
	if (strncmp(text, "1/", 2) || text[2] < '1' || text[2] > '9')
		return wrong(why);
	unsigned long one_in = strtoul(text + 2, &end, 10);
	if (one_in > ONE_IN_MAX || (*end && *end != '@'))
		return wrong(why);
	out->one_in = (u32)one_in;
	if (!*end)
		return 0;
	const char *mean = end + 1;
	double cpus = strtod(mean, &end);
	if (*end || end == mean || *mean < '0' || *mean > '9' || !(cpus >= 0.001) ||
	    cpus * 1000 > MEAN_MILLI_MAX)
		return wrong(why);
	out->mean_milli = (u32)(cpus * 1000);
	return 0;
}

/* The use of all CPUs in the minute, in thousandths of a CPU; negative if it was not recorded. */
static double used_milli(const struct profile *p, u64 length_ns)
{
	for (u32 t = 0; t < p->types.nr; t++)
		if (!strcmp(p->types.at[t].name, "cpu") && !strcmp(p->types.at[t].unit, "ns"))
			return (double)profile_total(p, t) * 1000 / (double)length_ns;
	return -1;
}

u32 push_share_weight(const struct push_share *share, const struct profile *p, u64 length_ns)
{
	double used = used_milli(p, length_ns), most = PUSH_SHARE_SMALLEST * (double)share->one_in;

	if (share->one_in <= 1)
		return 1;
	if (used < 0)
		return share->one_in;
	double weight = used > 0 ? share->one_in * (double)share->mean_milli / used : most;
	return weight < 1 ? 1 : weight > most ? (u32)most : (u32)weight;
}

bool push_share_draws(u32 weight, const char *host, const char *labels, u64 minute_ns)
{
	static const u8 key[SIPHASH_KEY_LEN] = "push share";
	auto_free char *text =
		xasprintf("%llu\n%s\n%s", (unsigned long long)minute_ns, host, labels);

	return siphash(key, text, strlen(text)) % weight == 0;
}

void push_share_scale(struct profile *p, u32 weight)
{
	vec_each(w, &p->weights)
		w->value = w->value > UINT64_MAX / weight ? UINT64_MAX : w->value * weight;
}
