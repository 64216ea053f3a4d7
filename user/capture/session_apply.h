/* SPDX-License-Identifier: Apache-2.0 */
/* Applies records to a recording, in order of time. Private to capture/session.c. */
#pragma once

#include "capture/samples/inbox.h"

struct process;
struct session;

/* Applies a record of any kind. The item keeps its record. */
void session_apply(struct session *s, struct item *item);

/* Names a sample and adds it to the profile. */
void session_take_sample(struct session *s, const struct sample *sample);

/* Takes the samples whose unwind rows are built now; with `all` the others too. */
void session_take_unwalked(struct session *s, bool all);

/*
 * Makes the process a target and prepares for its samples: tables, probes, agent. `ctx` is the
 * struct session.
 */
void session_admit(struct process *p, void *ctx);

/* Counts a JVM once in jvms_seen; requests its agent if `wants_agent`. */
void session_admit_jvm(struct session *s, const struct process *p, bool wants_agent);
