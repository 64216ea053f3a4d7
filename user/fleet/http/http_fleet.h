/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet without NATS: daemons that a controller in this process asks by their HTTP API.
 *
 *   census     GET /api/v1/node, /api/v1/slices, once at the start
 *   slices     GET /s/FROM-TO/page
 *   recording  POST /api/v1/sessions; GET /api/v1/profiles/ID until it is there; GET its file
 *
 * Nothing is signed, and nothing is split: a daemon checks its token, and a result arrives whole.
 * Coverage and sums are those of a fleet over NATS. There is no budget, and no limit of requests at
 * a time but the daemon's own. Times of slices are those of this machine's clock.
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "fleet/wire/message.h"

/*
 * The file of nodes has a line for each daemon; # begins a comment:
 *
 *   URL TOKEN_FILE [node=NAME] [ca=FILE] [KEY=VALUE ..]
 *
 * The other pairs are labels of the node. Without node= its name is the host of the URL.
 */

#define HTTP_NODES_MAX 200

/* Texts are owned. */
struct http_entry {
	char *url; /* "https://host:port", without a slash at its end */
	char *token;
	char *ca; /* PEM; NULL: the system's certificates */
	/* path of the unix socket where the daemon listens; NULL: connect to the URL */
	char *socket;
	char name[64], labels[184];
};

struct http_entries {
	VEC(struct http_entry) all;
};

/*
 * Reads the file, and the files that it names. Negative errno, and a sentence with the line but
 * without any secret. A token that others than its owner may read is refused (-EPERM).
 */
int http_file_read(const char *path, struct http_entries *out, struct str *why);

/* Erases the tokens. */
void http_entries_wipe(struct http_entries *e);

struct http_fleet;

/*
 * Starts asking all nodes who they are, for at most `wait_s`. The entries may be wiped afterwards.
 * Negative errno.
 */
int http_fleet_start(const struct http_entries *nodes, u32 wait_s, struct http_fleet **out);
void http_fleet_free(struct http_fleet *f);
int http_fleet_fd(const struct http_fleet *f);

/* Whether all nodes have answered or failed. */
bool http_fleet_is_ready(const struct http_fleet *f);

/* Send a request to all nodes, and end it early. Answers come from http_fleet_step. */
void http_fleet_request(struct http_fleet *f, const struct fleet_request *r);
void http_fleet_stop(struct http_fleet *f, const u8 *id);

/* ANSWER, or DONE with the result of a node, as in controller_take. */
typedef void (*http_message_fn)(void *ctx, const struct fleet_message *m, const void *result);

/* Sends requests, receives answers and passes them to `hand`. Call several times a second. */
void http_fleet_step(struct http_fleet *f, http_message_fn hand, void *ctx);
