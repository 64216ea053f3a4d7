/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection to NATS that never blocks. A process of its own has it (fleet/wire/bus.h), because
 * the library starts threads, resolves names and connects, which the web process may not. Packets
 * go between the two; each is one message.
 */
#pragma once

#include "fleet/wire/message.h"

#define LINK_SUBJECT_MAX  256
#define LINK_SUBJECTS_MAX 8
#define LINK_PACKET_MAX   (FLEET_MESSAGE_MAX + 1024)

struct link;

struct link_options {
	const char *url;   /* "nats://HOST:PORT,..", tls:// for TLS */
	const char *name;  /* of the connection, for the server's lists */
	const char *inbox; /* prefix of the library's own inboxes; NULL: its default */
	const char *dir;   /* may have nats.creds, and ca.pem with which the server is checked */
};

enum link_event_kind {
	LINK_MESSAGE,
	LINK_UP,   /* `text`: the server's address and version */
	LINK_DOWN, /* `text`: why; it connects again by itself */
	/* `text`: a right is missing, or messages were lost; the connection is still up */
	LINK_FAULT,
	LINK_STORED, /* a message that a stream keeps; of LINK_STREAM_SEEN its subject only */
	/*
	 * no further message follows; `text`: "cannot be read: ..", another fault, or ""; `reply`:
	 * how many messages the stream keeps
	 */
	LINK_STORED_END,
};

/* Streams of JetStream. */
enum link_stream {
	LINK_STREAM_SEEN,  /* nodes of the last 90 s */
	LINK_STREAM_AUDIT, /* also triggers that fired */
	LINK_STREAM_POLICY,
	NR_LINK_STREAMS,
};

/* Pointers are valid until the next call of link_receive. */
struct link_event {
	enum link_event_kind kind;
	const char *subject, *reply, *text;
	const void *bytes;
	size_t len;
};

/*
 * Starts the process. Call it before rights are dropped that it needs: to fork, and to open the
 * files of `dir`. Negative errno.
 */
int link_start(const struct link_options *o, struct link **out);

/* Ends the process. Accepts NULL. */
void link_free(struct link *l);

/* Readable when link_receive has something. */
int link_fd(const struct link *l);

/* -EAGAIN: nothing has arrived. -EPIPE: the process has ended for good. */
int link_receive(struct link *l, struct link_event *out);

/*
 * Subscribes, also after each reconnect. -E2BIG: the subject is too long, or there are too many
 * subjects.
 */
int link_subscribe(struct link *l, const char *subject);

/* `reply` may be "". -EAGAIN: the connection is too slow; the message was not sent. */
int link_publish(struct link *l, const char *subject, const char *reply, const void *bytes,
		 size_t len);

/*
 * Waits at most 2 s until the server has received all published messages. Drops events that arrive
 * meanwhile: call it before link_free only.
 */
void link_flush(struct link *l);

/*
 * Asks for the newest messages of a stream. LINK_STORED, at most `max`, and LINK_STORED_END follow.
 * `creates`: makes all streams that are missing.
 */
int link_read_stream(struct link *l, enum link_stream stream, u32 max, bool creates);

/* The node that an event of LINK_STREAM_SEEN names; NULL: it is another event. */
const char *link_seen_node(const struct link_event *e);

/*
 * Subjects of JetStream that nodes use. A leaf server does not pass on $JS.API. It passes on names
 * with the hub's domain, which the hub maps to the plain ones (nats-server 2.9.10,
 * server/jetstream_api.go, generateJSMappingTable). A node does not know to which kind of server it
 * is connected, and uses both names: the other one reaches nobody.
 */
#define STREAM_DOMAIN             "sysflame" /* of the hub that `fleet init` configures */
#define STREAM_FROM_LEAF(subject) "$JS." STREAM_DOMAIN ".API." subject

#define STREAM_SEEN       "sysflame.v1.seen." /* with the node's name */
#define STREAM_GET_POLICY "DIRECT.GET.SYSFLAME_POLICY"
