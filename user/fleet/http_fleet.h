/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet without NATS: a controller's messages reach members (fleet/member.h) in this process,
 * each of which has its daemon's HTTP API for a recorder. So all rules, coverage and sums are the
 * same.
 *
 *   census     GET /api/v1/node, /api/v1/slices, once at the start
 *   slices     GET /s/FROM-TO/page
 *   recording  POST /api/v1/sessions; GET /api/v1/profiles/ID until it is there; GET its file
 *
 * Times of slices are those of this machine's clock.
 */
#pragma once

#include "fleet/fetch.h"

struct http_fleet;

/*
 * Starts asking all nodes who they are; `public_key` may do everything. `wait_s` is the limit of
 * that. The entries may be wiped afterwards. Negative errno.
 */
int http_fleet_start(const struct http_entries *nodes, const u8 *public_key, u32 wait_s,
		     struct http_fleet **out);
void http_fleet_free(struct http_fleet *f);
int http_fleet_fd(const struct http_fleet *f);

/* All nodes have answered, or failed to. */
bool http_fleet_is_ready(const struct http_fleet *f);

/* As over NATS (docs/fleet-protocol.md). Answers come from http_fleet_step. */
void http_fleet_publish(struct http_fleet *f, const char *subject, const char *reply,
			const void *bytes, size_t len);

typedef void (*http_message_fn)(void *ctx, const char *subject, const void *bytes, size_t len);

/* Goes on, and hands out answers; call it some times a second. */
void http_fleet_step(struct http_fleet *f, http_message_fn hand, void *ctx);
