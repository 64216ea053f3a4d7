/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks of threads that still wait when a recording ends. */
#include "capture/events/blocked_threads.h"

#include <stdlib.h>

#include "capture/unwind/walker.h"
#include "stat.h"

static struct sample *sample_of(const struct blocked_thread *p, const struct sources_wait *wait,
				const struct tables *tables)
{
	const struct user_regs_struct regs = {
		.rip = p->pc,
		.rsp = p->sp,
		.rbp = p->fp,
		.rax = p->ax,
		.rbx = p->bx,
		.rdi = p->di,
		.r13 = p->r13,
		.r15 = p->r15,
		.fs_base = p->tls,
	};
	struct walked walked = { 0 };
	bool known =
		!walker_walk(tables, (pid_t)p->sample.task.pid, &regs, p->start_stack, &walked);
	struct sample head = p->sample;

	head.event = (u16)wait->number;
	head.weight = wait->waited_ns;
	head.unit_ns = wait->unit_ns;
	if (wait->is_idle)
		head.state = STATE_IDLE;
	if (!known)
		walked.reason = STAT_NO_MAPPING;
	struct sample *s = walked_sample(&walked, &head, p->kernel);
	walked_fini(&walked);
	s->kind = RECORD_PENDING;
	return s;
}

struct walk {
	const struct tables *tables;
	blocked_samples samples;
	VEC(u64) since; /* the begin of the wait of each sample */
};

static void walk_thread(const struct blocked_thread *p, const struct sources_wait *wait, void *ctx)
{
	struct walk *walk = ctx;

	vec_push(&walk->samples, sample_of(p, wait, walk->tables));
	vec_push(&walk->since, p->sample.weight);
}

/* Leaves out threads that resumed meanwhile: part of the walk may have seen another stack. */
void blocked_threads_walk(struct sources *s, const struct tables *tables, blocked_samples *out)
{
	struct walk walk = { .tables = tables };
	struct dict since = { 0 };

	sources_blocked(s, walk_thread, &walk);
	sources_last_blocked(s, &since);
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
