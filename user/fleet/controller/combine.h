/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges results while further ones arrive. Some hundred are merged at a time, together with the
 * partial result so far, so that memory does not grow with the number of nodes. As many merges run
 * at a time as there are CPUs; their partial results are merged like results.
 */
#pragma once

#include "fleet/controller/gather.h"
#include "fleet/controller/merge.h"

#define COMBINE_LANES   16 /* merges at a time, at most */
#define COMBINE_FIRST   64 /* results of the first merge: a worker is idle until then */
#define COMBINE_RESULTS 256
#define COMBINE_BYTES   (8u << 20)

/* Numbers of partial results, in the order in which a spool has them. */
struct combine_partials {
	u32 *at;
	size_t nr, cap;
};

/* A merge that runs. */
struct combine_lane {
	struct work *work;   /* NULL: none */
	struct spool merges; /* its input */
	struct combine_partials partials;
};

struct combine {
	struct workers *workers;
	struct merge_order order;
	bool holds;                      /* nothing is merged yet: the share is not final */
	struct spool next;               /* results and partial results that wait */
	struct combine_partials waiting; /* those of `next` */
	struct combine_lane lanes[COMBINE_LANES];
	u32 nr_lanes; /* lanes in use: one for each CPU, at least two */
	bool has_begun;
	struct str profile; /* partial result so far; that of running merges is missing */
	u32 profile_partial, nr_partials;
	VEC(struct merge_total) totals;
	struct node_table table; /* sums of the merged nodes, if the order lists nodes */
	/* for each total, its partial result; totals of one spool have the same */
	VEC(u32) part_of;
	char *error;             /* owned; NULL */
	struct combine *preview; /* owned; NULL: none */
	/* of a preview */
	struct str shown; /* the last merged profile; empty: there is none yet */
	u32 nr_nodes, nr; /* its nodes; how many there were so far */
	u64 begun_ns;     /* of the last merge */
};

/* Negative errno. */
int combine_init(struct combine *c, struct workers *w);
void combine_fini(struct combine *c);

/* Merges only samples of the processes that the selector names. */
void combine_filter(struct combine *c, const char *selector);

int combine_add(struct combine *c, const struct spool_result *r);

/*
 * From here on results are merged a second time as they come, at most once a second, for people who
 * look on: values as recorded, also while `holds`. The final result does not depend on it. Negative
 * errno.
 */
int combine_start_preview(struct combine *c);
void combine_step_preview(struct combine *c, u64 now_ns);

/* Whether so many results wait that no more should be fetched. */
bool combine_is_full(const struct combine *c);

/* Starts the merges that are due. With `all` it also merges the few results that are left. */
void combine_step(struct combine *c, bool all);

/* Marks nodes whose results could not be read. */
void combine_mark_spoiled(const struct combine *c, struct gather *nodes);

/* Whether no node has samples of the selected processes. */
bool combine_is_empty(const struct combine *c);

/* Whether all added results are in `profile`, or an error has ended the merging. */
bool combine_is_done(const struct combine *c);
