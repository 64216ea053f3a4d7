/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Continuous profiling: CPU time of the whole node at a low rate, in slices of 10 s; by choice
 * also waits, allocations and locks, which become sparser as the rate falls. Agents are attached
 * only for alloc and lock. Each slice goes to the web process as a record of docs/slices-format.md.
 * Its values are in ns, so that slices of different rates add up. Processes and threads are labels.
 */
#pragma once

#include "base/dict.h"
#include "capture/events/events.h"
#include "daemon/recorder/governor.h"
#include "daemon/recorder/outbox.h"
#include "daemon/recorder/readings.h"

struct continuous;

struct continuous_options {
	const char *events; /* as in -e */
	bool has_agents;    /* for alloc and lock */
	struct governor_limits limits;
	struct readings *readings; /* readings that get the samples; may be NULL */
};

#define CONTINUOUS_EVENTS "cpu, offcpu, alloc and lock"

/* Whether the text is a list of these events, each at most once. */
bool continuous_events_are_valid(const char *events);

/*
 * Sets the rate of CPU samples, and the units of other events in inverse proportion: their samples
 * become as much sparser, each stands for more, and sums stay right.
 */
void continuous_set_rate(struct event_options *o, u32 hz);

struct continuous *continuous_new(struct node *n, const struct continuous_options *options,
				  struct outbox *out);
void continuous_free(struct continuous *c);

/* Call it when there is a new web process: the next slice begins a book. */
void continuous_begin_book(struct continuous *c);

/*
 * Advances the recording and sends slices that are complete. `is_alone`: no other recording has run
 * since the last tick. The cost of slices is judged only then.
 */
void continuous_tick(struct continuous *c, u64 now_ns, bool is_alone);

/* Samples of all slices so far, and those that were lost. */
void continuous_counts(const struct continuous *c, u64 *samples, u64 *lost);

/* Fills in the rate, since when, and why. */
void continuous_report(const struct continuous *c, struct control_node *out);

/* Reports the dictionary of the slices that the web process has. */
void continuous_each_cache(const struct continuous *c, cache_use_fn visit, void *ctx);

/* Ends the window, so that the last slice is sent; ticks go on until continuous_has_ended. */
void continuous_stop(struct continuous *c);
bool continuous_has_ended(const struct continuous *c);
