/* SPDX-License-Identifier: Apache-2.0 */
/* Packets between fetch.c and its process. */
#pragma once

#include "fleet/fetch.h"

/* With the descriptor of a file for the answer. */
struct fetch_order {
	u32 number, node, max_bytes, timeout_s;
	bool is_post;
	char path[FETCH_PATH_MAX], body[FETCH_BODY_MAX];
};

struct fetch_event {
	u32 number, status, len; /* of the file's bytes */
	char why[160];
};

/* A guarded_fn; `ctx` is the http_entries. */
int fetch_run(int sock, const void *ctx);
