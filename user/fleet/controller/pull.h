/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetches results on credit: at most `window` chunks are on their way at a time, whatever the
 * number of results. If all came at once, nats-server would disconnect the receiver. The window
 * grows while chunks arrive without waiting in queues, and halves when one is overdue. An overdue
 * chunk is asked for again, and another result takes its place. A result is lost when no chunk of
 * any result arrives any more.
 */
#pragma once

#include "base/vec.h"
#include "fleet/wire/message.h"

#define PULL_WINDOW 32 /* chunks on their way, at most */

/* A result. The caller fills in the first part; zero the rest. */
struct pull {
	char name[64];
	u8 id[FLEET_ID_LEN]; /* of the request */
	u64 instance, size;
	u8 sha256[FLEET_HASH_LEN];
	void *owner;

	u8 *bytes; /* `got` of them */
	u64 got;
	/* when the next chunk was requested for the first time; for the last time */
	u64 first_ns, asked_ns;
	u64 number;   /* of the last question */
	u64 took_ns;  /* the slowest chunk */
	size_t place; /* in `open` */
	bool is_overdue;
};

struct pulls_host {
	void *ctx;
	void (*publish)(void *ctx, const char *subject, const char *reply, const void *bytes,
			size_t len);
	/* The result is complete and not damaged, or lost: `why` has a sentence then. */
	void (*done)(void *ctx, struct pull *p, const char *why);
};

struct pulls {
	const struct pulls_host *host;
	u8 secret[FLEET_ID_LEN];
	char inbox[64];           /* "_INBOX.x": replies go to subjects below */
	VEC(struct pull *) queue; /* those before `next` have begun */
	size_t next;
	VEC(struct pull *) open;
	size_t nr_overdue; /* overdue results; they do not count for the window */
	u32 window, threshold, credit;
	u64 nr_chunks, nr_asked;
	bool is_paused; /* no further result is begun, and no chunk becomes overdue */
	u64 now_ns;     /* of the last tick */
	u64 arrived_ns, shrunk_ns;
	u64 took_ns,
		/* time from request to chunk: the slowest of the recent ones; the fastest of all */
		least_ns;
};

void pulls_init(struct pulls *all, const struct pulls_host *host, const u8 *secret,
		const char *inbox);

/* Frees the bytes of results that are not complete. */
void pulls_fini(struct pulls *all);

/* Queues a result. `p` must stay valid until `done`. */
void pulls_add(struct pulls *all, struct pull *p);

/* Takes a chunk of the result `p` that came to `subject`. Ignores any but the next chunk. */
void pulls_take(struct pulls *all, struct pull *p, const char *subject,
		const struct fleet_chunk *c);

/* Asks for chunks, and again for those that did not arrive. */
void pulls_tick(struct pulls *all, u64 now_ns);

/* Ends all results that are queued or being fetched: each counts as lost, with the reason `why`. */
void pulls_give_up(struct pulls *all, const char *why);
