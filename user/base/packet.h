/* SPDX-License-Identifier: Apache-2.0 */
/* A packet with descriptors over a SOCK_SEQPACKET socket: unix(7), SCM_RIGHTS. */
#pragma once

#include "base/types.h"

#define PACKET_FDS_MAX 2

/* Sends the bytes with the descriptors. Negative errno; -EPIPE if the other end is gone. */
int packet_send(int sock, const void *bytes, size_t len, const int *fds, size_t nr);

/*
 * Receives a packet of at most `size` bytes; *len gets its length. The caller closes the
 * descriptors. -EPIPE if the other end is gone, -EPROTO if the packet was larger or had too many
 * descriptors, -EAGAIN if a socket that does not block is empty.
 */
int packet_receive(int sock, void *bytes, size_t size, size_t *len, int fds[PACKET_FDS_MAX],
		   size_t *nr);
