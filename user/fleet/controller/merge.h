/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges the results of nodes, some hundred at a time: nodes may be hostile, so that a worker reads
 * them. The results wait in one file. The partial result is put into the next spool first.
 *
 * Names of generated classes lose what differs from node to node. Process, thread and container
 * ids, which mean nothing outside their node, are dropped. Samples get the labels of their node as
 * tags, "node=a, zone=b", by which the page can split. Beyond MERGE_STACKS stacks of a service the
 * lightest are cut in their middle (prune_stacks).
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "fleet/controller/node_table.h"
#include "fleet/wire/message.h"
#include "fleet/wire/selector.h"
#include "profile/profile.h"
#include "sandbox/workers.h"

#define MERGE_RESULTS 4096 /* of one spool, at most */
/* most stacks of a service in the final profile .. */
#define MERGE_STACKS         16000
#define MERGE_STACKS_MERGING (4 * MERGE_STACKS) /* .. and in partial results */

struct spool {
	int fd; /* without a name */
	u32 nr, nr_results;
	u64 len;
};

/* Negative errno. */
int spool_open(struct spool *s);
void spool_close(struct spool *s);

struct spool_result {
	const char *node, *labels; /* "node=a,zone=b" */
	/* weight of the node's values, in 1e-6, which makes up for a shorter recording */
	u64 weight_ppm;
	/* the chance that the node was chosen; adjusted by `reach` of merge_order */
	u32 chance_ppb;
	const void *bytes;
	size_t len;
	/*
	 * The largest sums that the node's CPUs can produce in the recorded time: of a value in
	 * samples, and of a value in ns. 0: unknown. A result with more is refused.
	 */
	u64 most_samples, most_ns;
};

/* Adds the result of a node. Negative errno. */
int spool_add(struct spool *s, const struct spool_result *r);

/* Adds the profile of an earlier merge: a partial result of so many nodes. */
int spool_add_merged(struct spool *s, const void *bytes, size_t len, u32 nr_nodes);

/* Adds a note, or the title if the key is "". */
int spool_add_note(struct spool *s, const char *key, const char *text, u64 value);

/* Starts the process that forks workers; call it before the rest of the work. */
int merge_start_workers(struct workers **out);

struct merge_order {
	bool scales;      /* values become estimates for all nodes; raw ones are kept */
	double reach;     /* of estimate_chance */
	double factor;    /* estimate_factor for partial results of an estimate; 0 stands for 1 */
	bool is_last;     /* nothing is merged with this result */
	bool tags_nodes;  /* samples keep the tag `node`, their pod and the name of their thread */
	bool lists_nodes; /* with rows of each node in `table` */
	/* only samples of these processes are kept; "": all */
	char wanted[NR_SELECTOR_PROCESS][128];
	/*
	 * Not "": results are pprof of a store that has no labels of samples. They must have
	 * values in this unit only (-EPROTO), which get the name of this event. The label `service`
	 * of a result becomes that of its samples.
	 */
	char event[32], unit[16];
};

/*
 * Merges a spool in a worker, or here if `w` is NULL. The caller asks merge_result until it returns
 * something else than -EAGAIN, and calls workers_poll meanwhile.
 */
struct work *merge_begin_spool(struct workers *w, const struct spool *s,
			       const struct merge_order *o);

/* The sum of a node's result, in its first value type. */
struct merge_total {
	char node[64];
	u64 raw, value; /* `value` is weighted */
	u32 err;        /* 0, or a positive errno: the result could not be read and is left out;
			   EOVERFLOW: with it a sum would exceed what formats hold; ENODATA: it has
			   no samples that are wanted; ERANGE: it has more than its CPUs can give */
};

/* A partial result of the spool that was left out, for the same reasons. */
struct merge_lost {
	u32 index; /* in the order of spool_add_merged */
	u32 err;
};

struct partial_result {
	VEC(struct merge_total) totals;
	VEC(struct merge_lost) lost;
	struct str table;   /* for node_table_decode: the nodes of `totals` */
	struct str profile; /* in our own format (docs/profile-format.md) */
};

void partial_result_fini(struct partial_result *o);

/* The framing of a partial result, as a worker made it: -EBADMSG if it is malformed. */
int merge_parse(const void *bytes, size_t len, struct partial_result *out);

/*
 * 0: `bytes` has a partial result for merge_parse. Otherwise a negative errno, with a sentence
 * unless it is -EAGAIN.
 */
int merge_result(struct work *k, struct str *bytes, struct str *why);

#define PRUNE_FRAME "[truncated]"

/*
 * Keeps the `max` heaviest stacks of every service. Of the others PRUNE_FRAME replaces the frames
 * between the deepest caller that is kept and the leaf: self values of methods, and totals by label
 * and type, stay. Totals of methods stay by profile.hidden, of the 65,536 heaviest. Returns the
 * largest value, in the first type, of a stack that was cut.
 */
u64 prune_stacks(struct profile *p, u32 max);

/* From here on: what the worker of merge_task.c gets and returns. */

enum spool_kind {
	SPOOL_RESULT, /* texts: the node and its labels */
	SPOOL_MERGED, /* weight_ppm: the number of its nodes */
	SPOOL_NOTE,   /* texts: key and sentence; weight_ppm: the value */
};

/* The two texts and the bytes follow. */
struct spool_entry {
	u32 kind, first_len, second_len, len;
	u64 weight_ppm, most_samples, most_ns;
	u32 chance_ppb;
};

#define SPOOL_TEXT_MAX 1023

struct spool_params {
	u32 nr;
	struct merge_order order;
};

/*
 * The totals, the table and the profile follow. A total without a name is a partial result that was
 * left out: `raw` is its index (merge_lost).
 */
struct partial_head {
	u32 magic, nr_totals, table_len;
};
#define PARTIAL_MAGIC 0x324d4c46u

/* A worker_fn. */
int merge_task(struct worker_io *io, const int *fds, const void *params, size_t len);
