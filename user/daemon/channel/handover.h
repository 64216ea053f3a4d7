/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor gives recorder and web process the two ends of a channel
 * (daemon/channel/channel.h): at the start, when one of them was restarted, and when one of them
 * asks for a new channel.
 */
#pragma once

#include "base/types.h"

/* A pair of ends, neither of which blocks. */
int handover_pair(int ends[2]);

/* Sends one end over `sock`; closes ours. Negative errno. */
int handover_send(int sock, int end);

/*
 * Sends the web process another certificate and its key: PEM texts, in a file of memory that only
 * this and the receiver see.
 */
int handover_send_tls(int sock, const char *cert, const char *key);

enum handover {
	HANDOVER_CHANNEL,
	HANDOVER_TLS, /* a file: the certificate, a NUL, the key, a NUL */
};

/*
 * Receives a descriptor and its kind without waiting. A caller that passes NULL for `kind` wants
 * channels only: descriptors of files are closed. Returns the descriptor, -EAGAIN if none has
 * arrived, or -EPIPE if the supervisor has ended.
 */
int handover_receive(int sock, enum handover *kind);

/* Asks the supervisor for another channel. Only the side that closed the channel may ask. */
void handover_ask(int sock);

/* Whether the process at the other end of `sock` has asked since the last call. Does not wait. */
bool handover_is_asked(int sock);
