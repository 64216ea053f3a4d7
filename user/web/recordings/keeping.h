/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes of the web process into the store: a finished profile, after a worker has read what lists
 * show about it; and longer slices, which workers make of old ones.
 */
#pragma once

#include "base/types.h"
#include "store/store.h"
#include "store/store_slices.h"
#include "web/jobs/payload.h"

struct service;

/* `id` is the profile's; `err` a negative errno of the store. */
typedef void (*kept_fn)(void *ctx, int err, u64 id);

/*
 * Keeps `bytes`, a profile in the format of docs/profile-format.md, or none if it failed (NULL).
 * The profile is not stored if the daemon ends first (-ECANCELED). `facts` is taken over; with id 0
 * it gets a number. `done` may be NULL.
 */
void keep_profile(struct service *sv, struct stored *facts, struct payload *bytes, kept_fn done,
		  void *ctx);

/* Whether writes to the store succeed. */
struct store_health {
	int err; /* 0: the last write succeeded */
	u64 since_wall_ns;
	u64 nr_errors; /* writes that failed since the start */
};

/* Notes the result of a write. Logs the first failure, and the end of failures. */
void store_health_note(struct store_health *h, int err);

/* A sentence for the page; "" if all is well. */
const char *store_health_why(const struct store_health *h);

/* The merging of slices to longer ones when they are old enough. */
struct thinning {
	bool is_busy; /* a worker merges the slices of `at` */
	struct store_thinning at;
	u64 retry_ns; /* CLOCK_MONOTONIC: earliest time of the next try, after a failed one */
};

/* Starts the next hour that is due, while nobody waits for a worker. */
void thinning_tick(struct service *sv);
