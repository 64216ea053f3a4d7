/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests to a fleet that people start on the page of `sysflame fleet serve`. Each is a
 * controller (fleet/controller/controller.h) with the key of one person. Its merged profile goes to
 * the store. While somebody looks at the page, a census lists the nodes every few seconds.
 */
#pragma once

#include <jansson.h>

#include "fleet/controller/controller.h"

struct credentials;
struct fleet_requests;
struct history_order;
struct payload;
struct receiver;
struct service;
struct str;
struct workers;

#define FLEET_REQUESTS_RUN 2 /* at a time: as many as a node serves */

/* The fleet that this server asks (sysflame fleet serve). */
struct web_asks {
	const char *url, *dir;   /* of NATS; the folder with nats.nk or join, and ca.pem */
	const char *kept;        /* a folder that the web process may write: the file `canary` */
	const u8 *private_key;   /* of the person; FLEET_KEY_LEN bytes */
	struct workers *workers; /* of merge_start_workers; web_run frees them */
	/* the store that nodes push to (web/fleet/fleet_history.h); NULL: none */
	const struct receiver *history;
	struct credentials *history_credentials; /* wiped once its client has them */
};

/* *out is NULL if `o` is NULL. `o` must outlive *out. Negative errno. */
int fleet_requests_new(struct service *sv, const struct web_asks *o, struct fleet_requests **out);
void fleet_requests_free(struct fleet_requests *all);

/* For poll; -1: none. */
int fleet_requests_fd(const struct fleet_requests *all);

/*
 * Takes the next steps of running requests. Call it after messages, and every 20 ms while a request
 * runs.
 */
void fleet_requests_tick(struct fleet_requests *all);
bool fleet_requests_run(const struct fleet_requests *all);

/*
 * Call it when somebody looks at the page or asks the API: nodes are then listed for a while.
 * Accepts NULL.
 */
void fleet_requests_watched(struct fleet_requests *all);

/* The process that merges has ended: only a new start helps. */
bool fleet_requests_are_broken(const struct fleet_requests *all);

/* -ENOTCONN: there is no server. -EBUSY: the most requests that may run are running. */
int fleet_requests_start(struct fleet_requests *all, const struct controller_order *o,
			 const char *who, u64 *id);

/* Whether there is a store of history. */
bool fleet_requests_have_history(const struct fleet_requests *all);

/*
 * Reads the store of history instead of asking nodes. -EINVAL with a sentence; -EBUSY as above.
 * `reason` is for people.
 */
int fleet_requests_read(struct fleet_requests *all, const struct history_order *o,
			const char *reason, const char *who, u64 *id, struct str *why);

/*
 * Ends the recordings early; what was recorded is merged. -ENOENT: no request of that number runs.
 */
int fleet_requests_stop(struct fleet_requests *all, u64 id);

/*
 * A reference to the profile of what has come so far for a request that runs, and the number of
 * such profiles until then; to the whole one, and UINT32_MAX, while that is being stored. -ENOENT:
 * there is none.
 */
int fleet_requests_preview(const struct fleet_requests *all, u64 id, struct payload **out, u32 *nr);

/* The id of the stored profile of a request; 0: there is none (yet). */
u64 fleet_requests_profile(const struct fleet_requests *all, u64 id);

/* The connection and the requests, the newest first. */
json_t *fleet_requests_json(const struct fleet_requests *all);

/* What the services used in the last hour (web/fleet/fleet_overview.h). */
json_t *fleet_requests_services(const struct fleet_requests *all);

/* The nodes and services of the last census. */
json_t *fleet_requests_nodes(const struct fleet_requests *all);
