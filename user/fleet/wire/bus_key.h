/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of a connection to NATS. Part of fleet/wire/bus.h; it shows the library of NATS.
 *
 * Before 3.8.0 the library sends no signature if its first byte is 0, one in 256, and gives the
 * connection up when the server refuses that (nats.c, commit 4108c7df). Such a connection is given
 * up here, before the server sees it. The next one signs another text.
 */
#pragma once

#include <nats/nats.h>
#include <stdbool.h>

struct bus_key {
	const char *path; /* of the seed; it is read at each connection */
	bool was_asked;   /* the server has asked for a signature */
};

/* Connects by the key, which must live as long. */
natsStatus bus_key_set(natsOptions *opts, struct bus_key *k);

/* natsConnection_Connect, also with the next signature. */
natsStatus bus_key_connect(natsConnection **out, natsOptions *opts);
