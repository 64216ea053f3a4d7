/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a recording by time. */
#include "capture/samples/cut.h"

#include <stdlib.h>

#include "base/alloc.h"

/* The struct consists of u64 only. */
void sample_counts_add(struct sample_counts *sum, const struct sample_counts *more)
{
	u64 *to = (u64 *)sum;
	const u64 *from = (const u64 *)more;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

void loss_counts_between(const struct loss_counts *before, const struct loss_counts *after,
			 struct loss_counts *out)
{
	const u64 *from = (const u64 *)before, *to = (const u64 *)after;
	u64 *grown = (u64 *)out;

	for (size_t i = 0; i < sizeof(*out) / sizeof(*grown); i++)
		grown[i] = to[i] > from[i] ? to[i] - from[i] : 0;
}

u64 loss_counts_samples(const struct loss_counts *losses)
{
	const u64 *stats = losses->stats;

	return stats[STAT_RING_FULL] + stats[STAT_RING_LOCKED] + stats[STAT_NO_SCRATCH] +
	       stats[STAT_BUSY] + stats[STAT_WAIT_LOST] + stats[STAT_THROTTLED] +
	       loss_counts_missed(losses);
}

u64 loss_counts_missed(const struct loss_counts *losses)
{
	const u64 *stats = losses->stats;

	return stats[STAT_SKIPPED] + stats[STAT_LATE] + stats[STAT_DECLINED];
}

struct cut *cut_new(struct profile *profile, u64 begin_ns, const struct jvm_registry *jvms)
{
	struct cut *c = xcalloc(1, sizeof(*c));

	c->profile = profile;
	c->span = (struct span){ begin_ns, TIME_NEVER };
	c->quality = quality_new(jvms);
	return c;
}

void cut_count_request(struct cut *c, u32 pid, const struct request *request)
{
	c->counts.nr_other_values += request->has_other;
	if (!request->faults)
		return;
	vec_each(f, &c->faulty) {
		if (f->pid != pid)
			continue;
		f->faults |= request->faults;
		f->nr++;
		return;
	}
	if (c->faulty.nr < CUT_FAULTY_MAX)
		vec_push(&c->faulty, (struct faulty_requests){ pid, request->faults, 1 });
	else
		c->nr_other_faulty++;
}

void cut_free(struct cut *c)
{
	if (!c)
		return;
	vec_fini(&c->faulty);
	traces_fini(&c->traces);
	profile_free(c->profile);
	quality_free(c->quality);
	dict_fini(&c->stacks);
	vec_fini(&c->placed);
	dict_fini(&c->threads.by_thread);
	vec_fini(&c->threads.all);
	dict_fini(&c->programs.newest);
	vec_fini(&c->programs.older);
	vec_fini(&c->levels);
	free(c);
}
