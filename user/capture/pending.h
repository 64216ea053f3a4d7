/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that still wait when a recording ends: their stacks, read from outside. */
#pragma once

#include "abi.h"
#include "capture/tables.h"

/*
 * The sample of a waiting thread with its user stack, walked on the host, for the caller to free.
 * Its process should have tables. Without rights to read its memory the user stack is missing.
 */
struct sample *pending_sample(const struct pending *p, u32 event, u64 weight,
			      const struct tables *tables);
