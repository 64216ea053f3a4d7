/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the services of a fleet used in the last hour, for its page. While somebody looks, slices of
 * each minute are read once, those of the newest minute first, then those of every fifth minute
 * before it. Minutes that could not be read are asked for again after growing pauses. Nothing is
 * recorded. The numbers come from the sums of the nodes: no profile is read in this process
 * (fleet/controller/node_table.h).
 */
#pragma once

#include <jansson.h>

#include "fleet/controller/controller.h"

#define OVERVIEW_MINUTES  60
#define OVERVIEW_SERVICES 500 /* that are kept; those that used least are left out */

struct fleet_overview;

struct fleet_overview *fleet_overview_new(void);
void fleet_overview_free(struct fleet_overview *v);

/*
 * Takes the next steps. `may_ask`: a reading may begin if one is due; `host` is then used until it
 * has ended. Returns whether there is something new to show.
 */
bool fleet_overview_step(struct fleet_overview *v, const struct controller_host *host, bool may_ask,
			 u64 wall_ms);

/* The number of readings so far: it changes when there is something new to show. */
u64 fleet_overview_readings(const struct fleet_overview *v);

/* Whether a reading runs, and so needs messages and steps. */
bool fleet_overview_runs(const struct fleet_overview *v);
void fleet_overview_message(struct fleet_overview *v, const char *subject, const void *bytes,
			    size_t len);

/*
 * The services, those that used most first, with their use by minute and the nodes of `census`
 * (NULL: none) that run them, by label.
 */
json_t *fleet_overview_json(const struct fleet_overview *v, const struct gather *census);
