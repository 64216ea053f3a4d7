/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JetStream, for the process that talks to NATS: nodes last seen, and messages that streams keep.
 * Part of fleet/bus.h. Only fleet/bus.c may include it: it shows the library of NATS.
 */
#pragma once

#include <nats/nats.h>

#include "fleet/bus.h"

struct bus_client {
	int sock;
	natsConnection *connection;
	const char *inbox; /* prefix of inboxes; NULL: the library's */
};

/*
 * Sends BUS_SEEN for each node, or the one of this name, and BUS_SEEN_END. `creates`: creates the
 * bucket and the streams if they are missing.
 */
void bus_list_seen(const struct bus_client *b, const char *node, bool creates);

/* Sends BUS_STORED for each message, and BUS_STORED_END. `ask` is a struct bus_read. */
void bus_read_stream(const struct bus_client *b, const void *ask);
