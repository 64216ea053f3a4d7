/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives the messages of daemon/channel/protocol.h. */
#pragma once

#include "daemon/channel/protocol.h"

/*
 * Sends a message, with a descriptor unless `fd` is -1. Does not wait: -EAGAIN if the other side
 * reads too slowly, -EPIPE if it is gone.
 */
int channel_send(int sock, const struct control_message *m, int fd);

/*
 * Receives a message without waiting. `*fd` gets its descriptor, which the caller closes, or -1.
 * Every number of the message is within its limits, and every text valid, when this returns 0.
 * -EAGAIN: no message has arrived. -EPIPE: the other side is gone. -EPROTO: it sent an invalid
 * message; close the channel.
 */
int channel_receive(int sock, struct control_message *m, int *fd);

/* Whether a received message is well formed. `has_fd`: it came with a descriptor. */
bool channel_check(const struct control_message *m, size_t len, bool has_fd);

/* Copies a text into a field of a message: cut at a character, control characters become '?'. */
void channel_text(char *field, size_t size, const char *text);

/*
 * A memory file with these bytes that nobody can change (memfd_create(2), F_SEAL_WRITE). Returns a
 * descriptor or a negative errno.
 */
int channel_file(const void *bytes, size_t nr);

/* Whether a received descriptor is a sealed memory file of exactly `bytes`. */
bool channel_file_is(int fd, u64 bytes);
