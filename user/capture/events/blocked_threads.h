/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks of threads that still wait when a recording ends, walked in user space. */
#pragma once

#include "base/vec.h"
#include "capture/events/sources.h"
#include "capture/unwind/tables.h"

typedef VEC(struct sample *) blocked_samples;

/*
 * Adds a sample for each event and each thread that waits now. Threads that resumed before their
 * walk ended are left out. Their processes should have tables. The user stack is missing without
 * the right to read the process's memory. The caller frees the samples.
 */
void blocked_threads_walk(struct sources *s, const struct tables *tables, blocked_samples *out);
