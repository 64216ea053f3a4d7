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

/* The words of its thread's context. */
static inline size_t sample_nr_context(const struct sample *s)
{
	return s->nr_context & ~(unsigned)SAMPLE_HAS_VALUES;
}

/* The words behind its stack: the thread's context, and values of its ThreadLocals. */
static inline size_t sample_nr_request(const struct sample *s)
{
	return sample_nr_context(s) + (s->nr_context & SAMPLE_HAS_VALUES ? SAMPLE_VALUES : 0);
}

/* The number of words that follow a sample's head. */
static inline size_t sample_nr_words(const struct sample *s)
{
	return s->nr_kernel + 2ul * s->nr_user + sample_nr_request(s);
}

/* These words: nr_kernel pcs, then nr_user frames, then those of the request. */
static inline const u64 *sample_words(const struct sample *s)
{
	return (const u64 *)(s + 1);
}

static inline const u64 *sample_context(const struct sample *s)
{
	return sample_words(s) + s->nr_kernel + 2ul * s->nr_user;
}

/* JAVA_LABELS values of its thread's ThreadLocals; NULL if it has none. */
static inline const struct java_value *sample_values(const struct sample *s)
{
	return s->nr_context & SAMPLE_HAS_VALUES
		       ? (const struct java_value *)(sample_context(s) + sample_nr_context(s))
		       : NULL;
}
