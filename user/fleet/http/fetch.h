/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the HTTP API of daemons, in a process of its own without rights: servers may be
 * hostile. Answers have a limit of bytes and of time; redirects are answers like any other, which
 * nobody follows. Tokens go to the address of their own node only.
 */
#pragma once

#include "fleet/http/http_file.h"

#define FETCH_PATH_MAX 1024
#define FETCH_BODY_MAX 1024
#define FETCH_OPEN_MAX 48 /* requests at a time; others wait */

struct fetch_request {
	u32 node;         /* in the file */
	const char *path; /* "/api/v1/node" */
	const char *body; /* JSON, for a POST; NULL: GET */
	u32 max_bytes, timeout_s;
};

struct fetched {
	u32 status;        /* of HTTP; 0: there is no answer */
	const char *why;   /* a sentence if the status is 0 */
	const char *bytes; /* end in a NUL that `len` does not count */
	size_t len;
};

typedef void (*fetched_fn)(void *ctx, const struct fetched *f);

struct fetcher;

/* The process gets the nodes, which the caller may wipe afterwards. Negative errno. */
int fetcher_start(const struct http_entries *nodes, struct fetcher **out);

/* Requests that are open are not answered. */
void fetcher_free(struct fetcher *f);
int fetcher_fd(const struct fetcher *f);

/* Calls `done` once, from fetcher_step. -E2BIG if path or body are too long. */
int fetcher_add(struct fetcher *f, const struct fetch_request *r, fetched_fn done, void *ctx);

/* Takes answers; call it when fetcher_fd is readable, and some times a second. */
void fetcher_step(struct fetcher *f);
