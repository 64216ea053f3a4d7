/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetches results on credit: at most PULL_WINDOW chunks are on their way at a time, whatever the
 * number of results. If all came at once, nats-server would disconnect the receiver. A chunk that
 * does not arrive is asked for again.
 */
#pragma once

#include "base/vec.h"
#include "fleet/wire/message.h"

#define PULL_WINDOW 32

/* A result. The caller fills in the first part; zero the rest. */
struct pull {
	char name[64];
	u8 id[FLEET_ID_LEN]; /* of the request */
	u64 instance, size;
	u8 sha256[FLEET_HASH_LEN];
	void *owner;

	u8 *bytes; /* `got` of them */
	u64 got;
	u64 asked_ns; /* for the next chunk */
	u32 nr_asked; /* for the same chunk */
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
	struct pull *open[PULL_WINDOW];
	u32 nr_open;
	u64 nr_chunks, nr_asked;
	bool is_paused; /* no further result is begun */
	u64 now_ns;     /* of the last tick */
};

void pulls_init(struct pulls *all, const struct pulls_host *host, const u8 *secret,
		const char *inbox);

/* Frees the bytes of results that are not complete. */
void pulls_fini(struct pulls *all);

/* Queues a result. `p` must stay valid until `done`, which may free it. */
void pulls_add(struct pulls *all, struct pull *p);

/* A chunk that arrived; others than those asked for are ignored. */
void pulls_take(struct pulls *all, const struct fleet_chunk *c);

/* Asks for chunks, and again for those that did not arrive. */
void pulls_tick(struct pulls *all, u64 now_ns);

/* Those that are queued or on their way are lost. */
void pulls_give_up(struct pulls *all, const char *why);
