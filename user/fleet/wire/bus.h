/* SPDX-License-Identifier: Apache-2.0 */
/* The process that talks to NATS, and its packets (fleet/wire/link.h). */
#pragma once

#include "fleet/wire/link.h"

enum bus_packet_kind {
	BUS_STARTED = 1, /* from the process: it runs now and needs the list of subjects */
	BUS_UP,
	BUS_DOWN,
	BUS_MESSAGE,
	BUS_SUBSCRIBE, /* to the process */
	BUS_PUBLISH,
	BUS_STORED, /* both: asks for messages of a stream by a bus_read; and one of them */
	BUS_STORED_END,
	BUS_FAULT, /* the connection is up */
	BUS_FLUSH, /* both: asks whether all that was published has left; and that it has */
};

/* Subject, reply, and bytes or a text follow, the first two without NUL. */
struct bus_packet {
	u8 kind;
	u8 subject_len, reply_len;
};

/* See link_read_stream. */
struct bus_read {
	u32 stream, max;
	bool creates;
};

/* Makes a packet. -E2BIG if a part is too long. */
int bus_pack(enum bus_packet_kind kind, const char *subject, const char *reply, const void *bytes,
	     size_t len, struct str *out);

struct bus_parts {
	enum bus_packet_kind kind;
	char subject[LINK_SUBJECT_MAX], reply[LINK_SUBJECT_MAX];
	const u8 *bytes; /* in the packet */
	size_t len;
};

/* The parts of a packet. False if it is malformed. */
bool bus_unpack(const u8 *packet, size_t nr, struct bus_parts *out);

/* Serves until the other end of `sock` is closed. Returns an exit status. */
int bus_run(int sock, const struct link_options *o);

/*
 * A copy of a list "nats://HOST:PORT,.." without the users, passwords and tokens that addresses may
 * have before an @. The caller frees it.
 */
char *bus_url_shown(const char *urls);
