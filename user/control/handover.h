/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor gives recorder and web process the two ends of a channel (control/channel.h) at
 * the start, and again when one of them was started anew.
 */
#pragma once

#include "base/types.h"

/* A pair of ends, neither of which blocks. */
int handover_pair(int ends[2]);

/* Sends one end over `sock`; closes ours. Negative errno. */
int handover_send(int sock, int end);

/*
 * Receives an end without waiting. Returns the descriptor, -EAGAIN if none has arrived, -EPIPE if
 * the supervisor is gone.
 */
int handover_receive(int sock);
