/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A sample under construction: begin, kernel frames, user frames, submit. */
#pragma once

#include "maps.h"

/*
 * Takes the slot's scratch record and fills in everything but the stacks for the current task. NULL
 * if the task is not wanted or the record is in use; both are counted. Return it by stack_end.
 */
struct scratch *stack_begin(u32 slot, u32 event);
void stack_end(struct scratch *s);

/* As stack_begin, for reports of the agent's hooks that throttle_choose has chosen. */
struct scratch *stack_begin_hook(u32 event);

/* Adds the kernel stack. Call it before user frames are added; `ctx` is the program's context. */
void stack_kernel(void *ctx, struct scratch *s);

/* Appends a user frame; returns non-zero if the sample is full. */
static __always_inline int stack_push(struct scratch *s, u64 addr, u64 info)
{
	u64 nr = s->sample.nr_user, at = s->sample.nr_kernel + 2 * nr;

	if (nr >= ABI_USER_FRAMES)
		return 1;
	/* The verifier does not know the number of frames and requires the masks. */
	s->words[at & (ABI_SAMPLE_WORDS - 1)] = addr;
	s->words[(at + 1) & (ABI_SAMPLE_WORDS - 1)] = info;
	s->sample.nr_user = nr + 1;
	return 0;
}

/* Sends the sample; `stop` is the reason for which the user stack ended. */
void stack_submit(struct scratch *s, u32 stop);
