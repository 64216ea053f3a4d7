/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of the past from the store that nodes push to, for the page of a fleet: days, also of
 * nodes that are gone. One merged profile is asked for each value of a label, one after another. A
 * worker reads the answers (fleet/controller/merge.h).
 */
#pragma once

#include <jansson.h>

#include "base/str.h"
#include "base/types.h"

struct combine;
struct credentials;
struct receiver;
struct workers;

/* Values of the label `by` are read apart; a query with more of them is refused. */
#define HISTORY_PARTS  20
#define HISTORY_MAX_MS (31ull * 24 * 3600 * 1000)

struct history_order {
	char selector[256], event[128];
	char by[64]; /* a label of nodes, "service" or "node"; "": not split */
	u64 from_ms, to_ms;
	size_t nr_nodes; /* that answer at present; 0: not known */
};

struct history;

/*
 * Starts the process that asks, and wipes the credentials. Call it before forks are forbidden.
 * *out is NULL if `r` is NULL. Negative errno.
 */
int history_open(const struct receiver *r, struct credentials *c, struct history **out);
void history_close(struct history *h);

/* The address of the store; NULL if `h` is NULL. */
const char *history_url(const struct history *h);

/* Takes answers and sends queries. Call it several times a second. Accepts NULL. */
void history_tick(struct history *h);

struct history_reading;

/* -EINVAL with a sentence if the store cannot answer this. */
int history_start(struct history *h, struct workers *w, const struct history_order *o,
		  struct history_reading **out, struct str *why);
void history_free(struct history_reading *r);

/* Merges what has come so far. */
void history_stop(struct history_reading *r);

/* True when it has ended: there is an error, a sentence, or a profile in sysflame's own format. */
bool history_step(struct history_reading *r);
const char *history_error(const struct history_reading *r);
const struct str *history_profile(const struct history_reading *r);

/* The parts read so far; as controller_state.preview. */
const struct combine *history_preview(const struct history_reading *r);

/* The fields of a request to the fleet (web/fleet/fleet_requests.h); its nodes are the parts. */
json_t *history_json(const struct history_reading *r);
