/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile that a recording feeds. sink_split ends it at any time and begins an empty one. A
 * sample belongs to the cut of its own time, however late its names arrive.
 */
#pragma once

#include "capture/samples/cut.h"
#include "capture/samples/levels.h"

struct sink_options {
	struct level_list levels; /* the levels under the root */
	const regex_t *thread;    /* keep samples of threads with matching names; NULL: all */
	bool has_services;        /* samples have the label `service` */
	enum request_labels requests;
	u64 slot_ns; /* the length of a time slot; 0: keep no time */
};

struct sink;

/* Facts with which every profile of the sink starts. */
struct sink_model {
	const struct events *events;
	struct frames *frames;
	const char *target;
	double rate_hz;
};

/*
 * `levels` has the sources of names. `model` and the options' pointers must stay valid. The sink
 * takes samples from sink_begin on.
 */
struct sink *sink_new(const struct sink_options *options, const struct sink_model *model,
		      const struct levels *levels);
void sink_free(struct sink *k);

/* Begins the first cut at `begin_ns`. */
void sink_begin(struct sink *k, u64 begin_ns, const struct loss_counts *now);

/* Ends the cut at `now_ns`, at which the counters are `now`, and begins the next one. */
void sink_split(struct sink *k, u64 now_ns, const struct loss_counts *now);

/* Ends the last cut. No other follows. */
void sink_end(struct sink *k, u64 now_ns, const struct loss_counts *now);

/* The cut for a sample of that time; NULL before sink_begin. */
struct cut *sink_at(const struct sink *k, u64 time_ns);

/* Calls `visit` for each cut that may still get samples. */
typedef void (*sink_cut_fn)(struct cut *c, void *ctx);
void sink_each(const struct sink *k, sink_cut_fn visit, void *ctx);

/*
 * Removes and returns the oldest cut that ended at or before `settled_ns`; NULL if no cut has. Its
 * samples get the names that are known by now (levels_settle). The caller frees it and adds its
 * notes. It shares no memory with the sink.
 */
struct cut *sink_settle(struct sink *k, u64 settled_ns, const struct processes *processes);

/*
 * A process is about to be forgotten, or to execute another program: its samples get the names that
 * are known by now.
 */
void sink_forget(struct sink *k, struct process *p);

/* The sink's levels, prepared for that cut. */
struct levels *sink_levels(struct sink *k, struct cut *c);

/* Whether samples have their traces as labels. */
bool sink_keeps_traces(const struct sink *k);

/* The type of the event's value; the types of its counts follow it. */
u32 sink_type(const struct sink *k, u32 event);

/* The counts of all cuts, including those that were handed over. */
struct sample_counts sink_counts(const struct sink *k);
