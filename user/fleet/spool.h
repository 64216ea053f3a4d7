/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a spool and of an outcome: between fleet/merge.c and its worker, fleet/merge_task.c.
 */
#pragma once

#include "base/types.h"
#include "fleet/selector.h"
#include "worker/worker.h"

enum spool_kind {
	SPOOL_RESULT, /* texts: the node and its labels */
	SPOOL_MERGED, /* weight_ppm: the number of its nodes */
	SPOOL_NOTE,   /* texts: key and sentence; weight_ppm: the value */
};

/* The two texts and the bytes follow. */
struct spool_entry {
	u32 kind, first_len, second_len, len;
	u64 weight_ppm;
};

#define SPOOL_TEXT_MAX  1023
#define SPOOL_BYTES_MAX (64u << 20)

struct spool_params {
	u32 nr, share_ppb;
	u32 keeps_nodes;
	char wanted[NR_SELECTOR_PROCESS][128]; /* of merge_order */
};

/*
 * The totals and the profile follow. A total without a name is an outcome that was left out: `raw`
 * is its index (merge_lost).
 */
struct outcome_head {
	u32 magic, nr_totals;
};
#define OUTCOME_MAGIC 0x314d4c46u

/* A worker_fn. */
int merge_task(struct worker_io *io, const int *fds, const void *params, size_t len);
