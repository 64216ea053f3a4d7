/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivers requests to one receiver. Requests wait in a backlog and are sent one by one, the oldest
 * first. While the receiver does not take them, they are tried again after growing pauses.
 */
#pragma once

#include "base/str.h"
#include "net/http_client.h"
#include "push/backlog.h"
#include "push/credentials.h"
#include "push/receiver.h"

#define DELIVERY_PAUSE_MAX_S 60

/* Requests, since the start. */
struct delivery_counts {
	u64 sent;
	u64 tried_again;
	u64 refused; /* requests that the receiver will never take, or failed at each time */
	u64 crashed; /* requests with which the sending process ended three times */
	/* requests that could not be stored: the disk was full, or they were too large */
	u64 not_kept;
};

struct delivery {
	struct receiver receiver;
	struct http_client *client;
	struct backlog backlog;
	struct delivery_counts counts;
	int disk_err;                /* error of the last request that was not stored */
	u64 nr_lost_before, lost_ns; /* CLOCK_MONOTONIC of the last loss; 0: none */
	bool is_failing;             /* as last logged */
	bool took_others;            /* the receiver took the last request that ended */
	bool is_sending;             /* the first request of the backlog is being sent */
	bool is_broken;              /* the process that sends has ended for good */
	u64 now_ns;                  /* CLOCK_MONOTONIC of the tick */
	u64 next_ns;                 /* CLOCK_MONOTONIC: nothing is sent before */
	u32 nr_failures;             /* since the last success */
	u64 since_wall_ns;           /* when the present run of successes or failures began */
	char why[256];               /* the last fault, a phrase; "" after a success */
	char refused_why[256];       /* why the last request was refused; "" if none was */
};

/*
 * Starts the process that sends, and hands it the credentials. Call it before forks are forbidden.
 * Negative errno.
 */
int delivery_start(struct delivery *d, const struct credentials *c);

/* Takes the answer if there is one, and sends the next request of a minute before `next`. */
void delivery_tick(struct delivery *d, u64 now_ns, u64 next);

/* Keeps a request until it is sent. */
void delivery_add(struct delivery *d, u64 minute, u32 number, const char *service,
		  const void *bytes, size_t len);

/* Waits a moment for an answer, so that no request is sent twice; then ends the process. */
void delivery_close(struct delivery *d);

/* Whether requests are taken, and none was lost in the last DELIVERY_LOSS_NS. */
#define DELIVERY_LOSS_NS (600 * 1000000000ull)
bool delivery_is_ok(const struct delivery *d, u64 now_ns);

/* Requests that were lost, for all reasons. */
u64 delivery_lost(const struct delivery *d);

/* Appends sentences: how sending goes, then a sentence for each reason of losses. */
void delivery_explain(const struct delivery *d, u64 now_ns, struct str *out);
