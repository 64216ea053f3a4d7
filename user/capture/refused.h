/* SPDX-License-Identifier: Apache-2.0 */
/* JVMs of a recording that refused the agent, although an event needs it. */
#pragma once

#include <sys/types.h>

struct cut;
struct recording;

/* `reason` is "why; what to do" and is valid during the call. */
typedef void (*refused_fn)(pid_t pid, const char *comm, const char *reason, void *ctx);

/* Visits those that have refused so far and still run. */
void recording_each_refused(const struct recording *r, refused_fn visit, void *ctx);

/* Adds a note for each to the profile of a cut: once in a recording. */
void refused_note(struct recording *r, struct cut *c);
