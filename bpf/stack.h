/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A sample under construction: begin, kernel frames, user frames, submit. */
#pragma once

#include "maps.h"

/*
 * Takes the slot's record and fills in the current task's sample but for its stacks, NULL if it is
 * not wanted or the record is in use; counted either way. stack_end gives the record back.
 */
struct scratch *stack_begin(u32 slot, u32 event);
void stack_end(struct scratch *s);

/* Fills in the kernel stack, before the user's; `ctx` is the program's context. */
void stack_kernel(void *ctx, struct scratch *s);

/* Appends a user frame; returns non-zero when the sample is full. */
static __always_inline int stack_push(struct scratch *s, u64 addr, u64 info)
{
	u64 nr = s->sample.nr_user, at = s->sample.nr_kernel + 2 * nr;

	if (nr >= ABI_USER_FRAMES)
		return 1;
	/* The masks are for the verifier, which does not know how many frames there are. */
	s->words[at & (ABI_SAMPLE_WORDS - 1)] = addr;
	s->words[(at + 1) & (ABI_SAMPLE_WORDS - 1)] = info;
	s->sample.nr_user = nr + 1;
	return 0;
}

/* Sends the sample; `stop` says why the user stack ended. */
void stack_submit(struct scratch *s, u32 stop);
