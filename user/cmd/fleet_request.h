/* SPDX-License-Identifier: Apache-2.0 */
/* One request to the nodes of a fleet, from the census to the last result. Errors are logged. */
#pragma once

#include "base/opt.h"
#include "fleet/gather.h"
#include "fleet/link.h"

struct fleet_request_options {
	const char *url, *dir;
	double wait_s; /* for answers */
};

/* Of every subcommand that asks. */
#define FLEET_OPTS(o)                                                                               \
	{ 0, "nats", OPT_STRING, &(o)->url, "URL", "nats://HOST:PORT,.. or tls://.." },             \
		{ 0, "fleet-dir", OPT_STRING, &(o)->dir, "DIR", "the folder with the file `key`" }, \
	{                                                                                           \
		0, "wait", OPT_DOUBLE, &(o)->wait_s, "S", "wait S seconds for answers (2)"          \
	}

struct asking {
	const struct fleet_request_options *o;
	struct link *link;
	bool is_up;
	char inbox[64];
	u8 private_key[FLEET_KEY_LEN];
	struct gather *gather; /* that takes the replies at the moment */
	volatile int *stopped; /* set by a signal; may be NULL */
};

/* Reads the key and connects. Returns an exit status. */
int asking_begin(struct asking *a, const struct fleet_request_options *o);
void asking_end(struct asking *a);

/* A host for gather_init that publishes over the link. `deliver` stays NULL. */
struct gather_host asking_host(struct asking *a);

/* Signs the request with a new id, and begins to gather the answers. Returns an exit status. */
int asking_send(struct asking *a, struct fleet_request *r, struct gather *g,
		const struct gather_host *host);

/* STOP or ALIVE for a request; NULL: for all of them. */
void asking_control(struct asking *a, enum message_kind kind, const u8 *id);

/*
 * Handles what arrives until `ns` have passed, or until `is_over` says so. False if somebody
 * stopped it, or if the connection's process has ended.
 */
bool asking_run(struct asking *a, u64 ns, bool (*is_over)(const struct gather *g));
