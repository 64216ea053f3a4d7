/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Continuous profiling: CPU time of the whole node at a low rate, in slices of 10 s, without
 * agents. Each slice goes to the web process as a record of docs/slices-format.md. Its values are
 * in ns, so that slices of different rates add up. Processes and threads are labels.
 */
#pragma once

#include "recorder/governor.h"
#include "recorder/outbox.h"
#include "recorder/service.h"

struct continuous;

struct continuous *continuous_new(struct node *n, struct services *services,
				  const struct governor_limits *limits, struct outbox *out);
void continuous_free(struct continuous *c);

/* The web process is another one: the next slice begins a book. */
void continuous_begin_book(struct continuous *c);

/* Advances the recording and sends slices that are complete. */
void continuous_tick(struct continuous *c, u64 now_ns);

/* Fills in the rate, since when, and why. */
void continuous_report(const struct continuous *c, struct control_node *out);

/* Ends the window, so that the last slice is sent; ticks go on until continuous_has_ended. */
void continuous_stop(struct continuous *c);
bool continuous_has_ended(const struct continuous *c);
