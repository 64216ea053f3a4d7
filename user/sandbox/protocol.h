/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between the recorder and a worker, over a SOCK_SEQPACKET pair. Either side may have
 * been taken over by a hostile file, so each checks every message of the other.
 *
 *   recorder -> worker   REQUEST, with up to WORKER_FDS_MAX descriptors
 *   worker -> recorder   OPEN, any number of times: asks for another file
 *   recorder -> worker   OPENED, with a descriptor if `err` is 0
 *   worker -> recorder   RESULT; the result's bytes are in the memory that both share
 */
#pragma once

#include "base/types.h"

#define WORKER_TEXT_MAX   8192        /* bytes of parameters, or of a path with its NUL */
#define WORKER_FDS_MAX    2           /* descriptors of a request */
#define WORKER_RESULT_MAX (64u << 20) /* bytes of a result */

enum worker_message_kind {
	WORKER_REQUEST = 1,
	WORKER_OPEN = 2,
	WORKER_OPENED = 3,
	WORKER_RESULT = 4,
};

struct worker_message {
	u32 kind; /* enum worker_message_kind */
	u32 what; /* REQUEST: the number of the task; OPEN: the place, which the two ends agree on
		   */
	s32 err;  /* OPENED, RESULT: 0 or a negative errno */
	u32 nr;   /* RESULT: bytes in the shared memory; REQUEST: limit of these bytes */
	u32 len;  /* bytes used of `text` */
	char text[WORKER_TEXT_MAX];
};

/* The bytes of a message that are sent. */
#define WORKER_MESSAGE_BYTES(len) (offsetof(struct worker_message, text) + (len))
