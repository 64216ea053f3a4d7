/* SPDX-License-Identifier: Apache-2.0 */
/* A time range of continuous profiling, as a profile. */
#pragma once

#include "web/queue.h"

struct service;

#define RANGE_MAX_MS (31ull * 24 * 3600 * 1000)

struct range {
	u64 from_ms, to_ms;
	const char *service;                     /* "": all */
	const char *container, *pod, *namespace; /* NULL or "": all */
};

/* Whether it ends after it begins, and is short enough. */
bool range_is_valid(const struct range *r);

/* A job that makes the profile of a range in a format. As queue_add. */
int range_render(struct service *sv, const struct range *r, const char *format, job_done_fn done,
		 void *ctx);
