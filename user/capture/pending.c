/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that still wait when a recording ends. */
#include "capture/pending.h"

#include <stdlib.h>

#include "capture/walker.h"
#include "stat.h"

static struct sample *sample_of(const struct pending *p, u32 event, u64 weight,
				const struct tables *tables)
{
	const struct user_regs_struct regs = {
		.rip = p->pc,
		.rsp = p->sp,
		.rbp = p->fp,
		.rax = p->ax,
		.rbx = p->bx,
		.r13 = p->r13,
		.r15 = p->r15,
		.fs_base = p->tls,
	};
	struct walked walked = { 0 };
	bool known = !walker_walk(tables, (pid_t)p->sample.task.pid, &regs, &walked);
	struct sample head = p->sample;

	head.event = (u16)event;
	head.weight = weight;
	if (!known)
		walked.reason = STAT_NO_MAPPING;
	struct sample *s = walked_sample(&walked, &head, p->kernel);
	walked_fini(&walked);
	s->kind = RECORD_PENDING;
	return s;
}

struct walk {
	const struct tables *tables;
	pending_samples samples;
	VEC(u64) since; /* of each, when its wait began */
};

static void walk_thread(const struct pending *p, u32 number, u64 weight, bool is_idle, void *ctx)
{
	struct walk *walk = ctx;
	struct sample *sample = sample_of(p, number, weight, walk->tables);

	if (is_idle)
		sample->state = STATE_IDLE;
	vec_push(&walk->samples, sample);
	vec_push(&walk->since, p->sample.weight);
}

/* The stack of a thread that went on meanwhile was another's in part. */
void pending_walk(struct sources *s, const struct tables *tables, pending_samples *out)
{
	struct walk walk = { .tables = tables };
	struct dict since = { 0 };

	sources_pending(s, walk_thread, &walk);
	sources_last_pending(s, &since);
	for (size_t i = 0; i < walk.samples.nr; i++) {
		struct sample *sample = walk.samples.at[i];
		const u64 *since_ns = dict_find(&since, sample->task.tid);
		if (since_ns && *since_ns == walk.since.at[i])
			vec_push(out, sample);
		else
			free(sample);
	}
	vec_fini(&walk.samples);
	vec_fini(&walk.since);
	dict_fini(&since);
}
