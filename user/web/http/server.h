/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server: connections, limits, and requests on their way to the table of routes. */
#pragma once

#include "base/types.h"

struct auth;
struct route;
struct server;
struct service;
struct site;

struct server_options {
	const struct site *site;    /* its socket stays open */
	const struct route *routes; /* the last one has no method */
	struct auth *auth;
	struct service *service; /* of each request */
};

/* Everything that `options` points to must outlive the server. */
int server_new(const struct server_options *o, struct server **out);

/*
 * Serves new connections with another certificate. Those that exist keep the earlier one. -EINVAL
 * if the key does not belong to it; then nothing changes.
 */
int server_renew_tls(struct server *s, const char *cert, const char *key);

/* All requests must have a reply by now, and all streams must have ended. */
void server_free(struct server *s);

/* Readable when server_run has something to do. */
int server_fd(const struct server *s);

/* ms after which server_run is to be called in any case; at most `max`. */
int server_timeout_ms(const struct server *s, int max);
void server_run(struct server *s);

/* Ends connections that send too slowly. Call it every second. */
void server_tick(struct server *s);
