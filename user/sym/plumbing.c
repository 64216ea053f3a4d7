/* SPDX-License-Identifier: Apache-2.0 */
/* Drops frames of the agent and the JVM. */
#include "sym/plumbing.h"

#include <string.h>

/* Stubs have no class. Wrappers of native methods have one: they are the called method. */
static bool is_of_jvm(const struct frames *all, frame_id frame)
{
	const struct frame *f = frames_get(all, frame);

	return f->kind == FRAME_JVM || (f->kind == FRAME_STUB && !strchr(f->name, '.'));
}

void plumbing_drop(const struct frames *all, size_t first, frame_list *frames,
		   unnamed_list *unnamed)
{
	size_t end = first, nr;

	while (end < frames->nr && frames_get(all, frames->at[end])->kind == FRAME_NATIVE)
		end++;
	size_t agent_end = end;
	while (end < frames->nr && is_of_jvm(all, frames->at[end]))
		end++;
	if (end == frames->nr || end == agent_end)
		return;
	nr = end - first;
	memmove(frames->at + first, frames->at + end, (frames->nr - end) * sizeof(frames->at[0]));
	frames->nr -= nr;
	size_t kept = 0;
	vec_each(u, unnamed) {
		if (u->at >= first && u->at < end)
			continue;
		u->at -= u->at >= end ? nr : 0;
		unnamed->at[kept++] = *u;
	}
	unnamed->nr = kept;
}
