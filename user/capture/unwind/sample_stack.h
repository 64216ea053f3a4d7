/* SPDX-License-Identifier: Apache-2.0 */
/* The stack and the context behind the head of a struct sample. */
#pragma once

#include "abi.h"
#include "base/types.h"

/* The user frames, which follow the kernel's; valid if there are any. */
static inline const struct user_frame *sample_user_frames(const struct sample *s)
{
	return (const struct user_frame *)((const u64 *)(s + 1) + s->nr_kernel);
}

/* The number of words that follow a sample's head. */
static inline size_t sample_nr_words(const struct sample *s)
{
	return s->nr_kernel + 2ul * s->nr_user + s->nr_context;
}

/* These words: nr_kernel pcs, then nr_user frames, then the thread's context. */
static inline const u64 *sample_words(const struct sample *s)
{
	return (const u64 *)(s + 1);
}

/* The nr_context words of its thread's context. */
static inline const u64 *sample_context(const struct sample *s)
{
	return sample_words(s) + s->nr_kernel + 2ul * s->nr_user;
}
