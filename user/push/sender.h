/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends requests to one receiver, without ever blocking: a process of its own has the network, the
 * credentials and libcurl (push/post.c). It gets the open file of a request, and sees no other.
 */
#pragma once

#include "push/credentials.h"
#include "push/receiver.h"

struct sender;

enum sender_event_kind {
	SENDER_STARTED, /* the process; it has no request now */
	SENDER_DONE,    /* the request `number` got an answer, or none */
};

struct sender_event {
	u32 kind;
	u64 number;
	s32 status;        /* of HTTP; 0: there was no answer */
	u32 retry_after_s; /* when the receiver wants it again; 0: it did not say */
	u64 nr_rejected;   /* profiles that the receiver did not take although it said 200 */
	char why[256];     /* a phrase; "" after success */
};

/* The receiver's process has `credentials` from now on. Call it before forks are forbidden. */
int sender_start(const struct receiver *r, const struct credentials *credentials,
		 struct sender **out);

/* Ends the process. Accepts NULL. */
void sender_free(struct sender *s);

/* Readable when sender_receive has something. */
int sender_fd(const struct sender *s);

/*
 * Sends the file, one at a time. `number` comes back in the event. `fd` stays the caller's. -EAGAIN
 * if the process takes nothing now.
 */
int sender_post(struct sender *s, u64 number, int fd);

/* -EAGAIN: nothing happened. -EPIPE: the process has ended for good. */
int sender_receive(struct sender *s, struct sender_event *out);

/* From here on: post.c, the process that posts requests. */

struct post_options {
	const struct receiver *receiver;
	const struct credentials *credentials;
};

/*
 * Serves until the other end of `sock` is closed. Packets to it are a number with the descriptor of
 * a request; a packet from it is a struct sender_event. Returns an exit status.
 */
int post_run(int sock, const struct post_options *o);
