/* SPDX-License-Identifier: Apache-2.0 */
/* Which events of a cut lost samples, and why. */
#pragma once

#include "capture/recording.h"

struct loss {
	const char *event; /* as named in -e */
	const char *key;   /* short name of `why`, for the notes */
	const char *why;   /* "the ring buffer was full" */
	const char *remedy;
	u64 nr;
	u64 nr_due; /* samples due by the clock; `nr` of them were lost; 0: unknown */
};

typedef void (*loss_fn)(const struct loss *loss, void *ctx);
void losses_each(const struct recording *r, const struct cut *c, loss_fn visit, void *ctx);

/*
 * Calls `visit` for each event with samples that stand for more occurrences than usual, because
 * there were too many. `why` and `remedy` are NULL.
 */
void losses_each_sparse(const struct recording *r, const struct cut *c, loss_fn visit, void *ctx);

/* Adds the losses and the sparse samples to the cut's profile as notes. */
void losses_note(const struct recording *r, struct cut *c);
