/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of a connection to NATS. Part of fleet/wire/bus.h; it shows the library of NATS.
 *
 * Before 3.8.0 the library does not send a signature whose first byte is 0, one in 256, and gives
 * the connection up when the server refuses that (nats.c, commit 4108c7df). Here such a connection
 * is ended before the server sees it. The next connection signs another text.
 */
#pragma once

#include <nats/nats.h>
#include <stdbool.h>

#include "fleet/wire/key.h"

/* Files are read at each connection. */
struct bus_key {
	char *path; /* of the seed; owned; NULL */
	/* file of the key's token; NULL: the server knows the key without a token */
	char *token_path;
	char *join_path;  /* of the secret by which nodes join; NULL */
	const char *name; /* of the node */
	char seed[NKEY_SEED_TEXT];
	bool was_asked; /* the server has asked for a signature */
};

/* Finds nats.nk with nats.jwt, or join, in the folder (NULL: in none). Nobody frees the paths. */
void bus_key_init(struct bus_key *k, const char *dir, const char *name);

/* There is one. */
bool bus_key_exists(const struct bus_key *k);

/* Makes connections use the key, which must live as long as `opts`. */
natsStatus bus_key_set(natsOptions *opts, struct bus_key *k);

/*
 * As natsConnection_Connect, but tries again with another signature if the first byte of one is 0.
 */
natsStatus bus_key_connect(natsConnection **out, natsOptions *opts);

/* The path of a file of the folder; NULL: it is not there. The caller frees it. */
char *bus_file_in(const char *dir, const char *name);
