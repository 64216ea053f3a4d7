/* SPDX-License-Identifier: Apache-2.0 */
/* The process that posts requests to a receiver (push/sender.h). */
#pragma once

#include "push/credentials.h"
#include "push/receiver.h"

struct post_options {
	const struct receiver *receiver;
	const struct credentials *credentials;
};

/*
 * Serves until the other end of `sock` is closed. Packets to it are a number with the descriptor of
 * a request; a packet from it is a struct sender_event. Returns an exit status.
 */
int post_run(int sock, const struct post_options *o);
