/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes of a profile on its own quality: samples, losses, frames without names, JVMs whose agents
 * came late or refused.
 */
#pragma once

#include <sys/types.h>

#include "base/types.h"
#include "capture/recording.h"

/* Adds these notes to the profile of a cut that has ended. */
void notes_add(const struct recording *r, struct cut *c);

struct cut;
struct recording;

/* Adds a note for each JVM whose agent came late to the profile of a cut that has ended. */
void late_note(const struct recording *r, struct cut *c);

struct cut;
struct recording;

/* `reason` is "why; what to do" and is valid during the call. */
typedef void (*refused_fn)(pid_t pid, const char *comm, const char *reason, void *ctx);

/* Visits the JVMs that have refused the agent so far and are still running. */
void recording_each_refused(const struct recording *r, refused_fn visit, void *ctx);

/*
 * Adds a note for each JVM that has refused to the profile of the cut. A JVM gets one note in a
 * recording, not one for each cut.
 */
void refused_note(struct recording *r, struct cut *c);
