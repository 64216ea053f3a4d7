/* SPDX-License-Identifier: Apache-2.0 */
/* Has workers merge slices to longer ones when they are old enough. */
#pragma once

#include "store/store_slices.h"

struct service;

struct thinning {
	bool is_busy; /* a worker merges the slices of `at` */
	struct store_thinning at;
	u64 retry_ns; /* CLOCK_MONOTONIC: not before, since the last try failed */
};

/* Starts the next hour that is due, while nobody waits for a worker. */
void thinning_tick(struct service *sv);
