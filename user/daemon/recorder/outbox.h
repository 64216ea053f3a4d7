/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue of messages for the web process. The recorder never waits for that process: a message stays
 * here until the web process reads.
 */
#pragma once

#include "base/vec.h"
#include "daemon/channel/channel.h"
#include "daemon/recorder/redaction.h"

struct outbox_item {
	struct control_message *m;
	int fd;
};

struct outbox {
	int sock;                          /* -1: nobody is there, messages are dropped */
	const struct redaction *redaction; /* applied to texts of every message */
	VEC(struct outbox_item) waiting;
};

/* Sends to another web process from now on. Drops the messages for the previous one. */
void outbox_use(struct outbox *o, int sock);

/* Queues a message that must arrive. Takes the descriptor over, unless it is -1. */
void outbox_add(struct outbox *o, const struct control_message *m, int fd);

/* Sends a report that a later one replaces; drops it if other messages wait. */
void outbox_offer(struct outbox *o, const struct control_message *m);

/*
 * Sends the queued messages. -EPIPE if the other side is gone, -EOVERFLOW if it has read so little
 * that the queue is full.
 */
int outbox_flush(struct outbox *o);
void outbox_fini(struct outbox *o);
