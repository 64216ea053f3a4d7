/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that still wait when a recording ends. */
#include "capture/pending.h"

#include "capture/walker.h"
#include "stat.h"

struct sample *pending_sample(const struct pending *p, u32 event, u64 weight,
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
