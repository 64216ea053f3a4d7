/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that still wait when a recording ends: their stacks, read from outside. */
#pragma once

#include "base/vec.h"
#include "capture/sources.h"
#include "capture/tables.h"

typedef VEC(struct sample *) pending_samples;

/*
 * Adds a sample, for the caller to free, for each thread that waits now and each event: since
 * recording ended, and all the while its stack was walked. Their processes should have tables.
 * Without rights to read its memory the user stack is missing.
 */
void pending_walk(struct sources *s, const struct tables *tables, pending_samples *out);
