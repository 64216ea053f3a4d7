/* SPDX-License-Identifier: Apache-2.0 */
/* The stack behind the head of a struct sample. */
#pragma once

#include "abi.h"
#include "base/types.h"

/* The user frames, which follow the kernel's; valid if there are any. */
static inline const struct user_frame *sample_user_frames(const struct sample *s)
{
	return (const struct user_frame *)((const u64 *)(s + 1) + s->nr_kernel);
}

/* The words that follow a sample's head: nr_kernel pcs, then nr_user frames. */
static inline const u64 *sample_words(const struct sample *s)
{
	return (const u64 *)(s + 1);
}
