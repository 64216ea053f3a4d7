/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that still wait when a recording ends. */
#include "capture/pending.h"

#include <string.h>

#include "base/alloc.h"
#include "capture/inbox.h"
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
	size_t nr_kernel = p->sample.nr_kernel, nr_user = walked.frames.nr;
	struct sample *s = xcalloc(1, sizeof(*s) + (nr_kernel + 2 * nr_user) * sizeof(u64));
	u64 *words = (u64 *)sample_words(s);

	*s = p->sample;
	s->event = (u16)event;
	s->weight = weight;
	s->nr_user = (u16)nr_user;
	s->stop = !known ? STAT_NO_MAPPING : walked.is_complete ? STAT_ROOT : STAT_UNREADABLE;
	memcpy(words, p->kernel, nr_kernel * sizeof(u64));
	for (size_t i = 0; i < nr_user; i++)
		memcpy(words + nr_kernel + 2 * i, &walked.frames.at[i].frame,
		       sizeof(struct user_frame));
	walked_fini(&walked);
	return s;
}
