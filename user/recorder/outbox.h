/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages for the web process that wait until it reads them. The recorder never waits for it.
 */
#pragma once

#include "base/vec.h"
#include "control/channel.h"

struct outbox_item {
	struct control_message *m;
	int fd;
};

struct outbox {
	int sock; /* -1: nobody is there, messages are dropped */
	VEC(struct outbox_item) waiting;
};

/* Sends to another web process from now on; drops what waits for the previous one. */
void outbox_use(struct outbox *o, int sock);

/* Queues a message that must arrive. Takes the descriptor over; -1 is none. */
void outbox_add(struct outbox *o, const struct control_message *m, int fd);

/* Sends a message of which a later one says more; drops it if others wait. */
void outbox_offer(struct outbox *o, const struct control_message *m);

/*
 * Sends what waits. -EPIPE if the other side is gone, or has read nothing for so long that too much
 * waits.
 */
int outbox_flush(struct outbox *o);
void outbox_fini(struct outbox *o);
