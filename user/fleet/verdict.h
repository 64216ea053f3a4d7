/* SPDX-License-Identifier: Apache-2.0 */
/* A node's answer to a request. */
#pragma once

/* On the wire: append only. */
enum verdict {
	VERDICT_ACCEPT = 0,
	VERDICT_NO_MATCH = 1,  /* the selector or the coin leaves the node out */
	VERDICT_BUDGET = 2,    /* the day's CPU time is spent */
	VERDICT_POLICY = 3,    /* the key, or this node, does not allow it */
	VERDICT_BUSY = 4,      /* as many requests run as may */
	VERDICT_CLOCK = 5,     /* the request comes from the future */
	VERDICT_SIGNATURE = 6, /* the key is unknown, or did not sign it */
	VERDICT_REPLAY = 7,    /* it was seen before */
	VERDICT_EXPIRED = 8,
	VERDICT_DISABLED = 9, /* somebody switched the node off */
	VERDICT_FAILED = 10,  /* it tried */
	NR_VERDICTS,
};

/* "ACCEPT", .. */
const char *verdict_name(enum verdict v);
