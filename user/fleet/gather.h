/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's side of one request: who answered what, and the results, fetched a few at a
 * time. A node's result counts once, whatever arrives twice. It has no clock and no network of its
 * own.
 */
#pragma once

#include "base/vec.h"
#include "fleet/message.h"

#define GATHER_WINDOW    32 /* chunks that are on their way at a time */
#define GATHER_NODES_MAX 100000

enum gather_state {
	GATHER_REFUSED, /* its verdict says why */
	GATHER_WORKS,   /* it has accepted; no result yet */
	GATHER_READY,   /* its result is fetched */
	GATHER_DELIVERED,
	GATHER_FAILED, /* it accepted; its verdict says why there is no result */
};

struct gather_node {
	char name[64], why[256], labels[256], version[32];
	u64 instance;
	enum gather_state state;
	enum verdict verdict;
	char services[FLEET_SERVICES][104];
	u32 nr_services, nr_all_services, nr_cpus, nr_jvms;
	u64 samples, lost, profile;
	u8 sha256[FLEET_HASH_LEN];
	u8 *bytes; /* `got` of them */
	u64 size, got;
	u64 asked_ns; /* for the next chunk; 0: not yet */
	u32 nr_asked; /* for the same chunk */
};

struct gather_host {
	void *ctx;
	void (*publish)(void *ctx, const char *subject, const char *reply, const void *bytes,
			size_t len);
	/* The whole result of a node, checked against its SHA-256. Negative errno: it is lost. */
	int (*deliver)(void *ctx, const struct gather_node *n);
};

struct gather {
	const struct gather_host *host;
	u8 id[FLEET_ID_LEN], secret[FLEET_ID_LEN];
	char inbox[64];                  /* "_INBOX.x": replies go to subjects below */
	VEC(struct gather_node *) nodes; /* in the order of their answers */
	struct gather_names *names;
	u64 nr_chunks;
	u32 nr_twins; /* answers of a second node of the same name */
};

void gather_init(struct gather *g, const struct gather_host *host, const u8 *id, const u8 *secret,
		 const char *inbox);
void gather_fini(struct gather *g);

/* A message to one of its inboxes. Others, and what is malformed, are ignored. */
void gather_message(struct gather *g, const void *bytes, size_t len);

/* Asks for chunks, and again for those that did not arrive. */
void gather_tick(struct gather *g, u64 now_ns);

size_t gather_count(const struct gather *g, enum gather_state state);

/* Nodes that accepted and did not deliver in time have failed. */
void gather_give_up(struct gather *g);
