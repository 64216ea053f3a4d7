/* SPDX-License-Identifier: Apache-2.0 */
/* A time range of continuous profiling, as a profile. */
#pragma once

#include "web/jobs/queue.h"

struct request;
struct service;

#define RANGE_MAX_MS (31ull * 24 * 3600 * 1000)

struct range {
	u64 from_ms, to_ms;
	/* Filters; "" and 0 mean all. `container` is a name or an id. */
	const char *event, *service, *container, *pod, *namespace, *comm;
	const char *with; /* NAME=VALUE, as report --with; "" means all */
	u64 pid;
	bool may_be_empty; /* range_render accepts a range without samples */
};

#define RANGE_ALL(from, to)                                    \
	{                                                      \
		from, to, "", "", "", "", "", "", "", 0, false \
	}

/* Bytes of a text. */
#define RANGE_TEXT_MAX  127
#define RANGE_COMM_MAX  31
#define RANGE_EVENT_MAX 31
#define RANGE_WITH_MAX  511
#define RANGE_PID_MAX   4194304 /* PID_MAX_LIMIT */

/* "checkout", "pod shop-0", "node": for titles. The caller frees it. */
char *range_target(const struct range *r);

/* "shop 07:10:00–07:11:00", with the date if it is not of today. The caller frees it. */
char *range_name(const struct range *r);

/* Whether the range ends after its begin, and is not too long. */
bool range_is_valid(const struct range *r);

/* Whether `with` is empty or NAME=VALUE; otherwise it has replied with the error. */
bool range_has_valid_label(struct request *q, const struct range *r);

/* The length of the slices that are kept for that time: 10 s, or for old times 1 or 10 minutes. */
u64 range_step_ms(struct service *sv, const struct range *r);

/* Widens it to whole steps. */
void range_round(struct range *r, u64 step_ms);

/*
 * Widens the range to whole slices. Without that, a slice that only ends in the range would be left
 * out, and a slice that only begins in it would be taken whole.
 */
void range_widen(struct service *sv, struct range *r);

/* As reply_job_error; says since when and why there are no slices, if the range has none. */
void range_reply_error(struct request *q, int err, const struct payload *result,
		       const struct range *r, const char *doing);

/* Starts a job that makes the profile of a range in a format. Returns the same as queue_add. */
int range_render(struct service *sv, const struct range *r, const char *format, job_done_fn done,
		 void *ctx);
