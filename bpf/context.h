/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The context of a request, which the current thread publishes. */
#pragma once

#include "maps.h"

/*
 * Appends the thread's context to the sample, behind its last frame, if its process has an entry in
 * context_places. Does nothing if the sample has a context already. Call it in the sampled thread,
 * after the frames. Returns 0. Global: the verifier checks it once.
 */
int context_add(struct scratch *s);

/*
 * Appends values of ThreadLocals behind the context, if the thread is one of a JVM with an entry in
 * java_places. Call it after context_add, in the same way.
 */
int java_values_add(struct scratch *s);
