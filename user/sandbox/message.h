/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives one message of sandbox/protocol.h. */
#pragma once

#include <stddef.h>

#include "sandbox/protocol.h"

/* Sends the message with its descriptors. Negative errno; -EPIPE if the other end is gone. */
int message_send(int sock, const struct worker_message *m, const int *fds, size_t nr);

/*
 * Waits for a message. Its lengths are checked and its text ends in a NUL, unless it has none. The
 * caller closes the descriptors. -EPIPE if the other end is gone, -EPROTO for anything else than a
 * message, -EAGAIN if the socket does not block.
 */
int message_receive(int sock, struct worker_message *m, int fds[WORKER_FDS_MAX], size_t *nr);
