/* SPDX-License-Identifier: Apache-2.0 */
/* A time range of continuous profiling, as a profile. */
#pragma once

#include "web/queue.h"

struct service;

#define RANGE_MAX_MS      (31ull * 24 * 3600 * 1000)
#define SERVICE_MAX_BYTES 127
#define EVENT_MAX_BYTES   31

struct range {
	u64 from_ms, to_ms;
	const char *service, *event; /* "": all */
};

/* Whether it ends after it begins, and is short enough. */
bool range_is_valid(const struct range *r);

/*
 * Widens it to whole steps of the slices that are kept of its time: old ones have a minute, or ten.
 */
void range_widen(struct service *sv, struct range *r);

/* A job that makes the profile of a range in a format. As queue_add. */
int range_render(struct service *sv, const struct range *r, const char *format, job_done_fn done,
		 void *ctx);
