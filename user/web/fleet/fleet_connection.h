/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the connection to NATS, of a node or of the fleet's page: in the log, and for pages.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/types.h"

struct link_event;

/* All zero: not connected yet. */
struct fleet_connection {
	bool is_up;
	u64 since_wall_ns; /* of the last change; 0: none yet */
	u32 nr_warned;     /* since it was last up */
	char *text;        /* server and version, or why it is down; NULL: not connected yet */
};

/* Takes LINK_UP, LINK_DOWN and LINK_FAULT. Whether the state has changed. */
bool fleet_connection_take(struct fleet_connection *c, const struct link_event *e);

/* The process of the connection has ended for good. */
void fleet_connection_end(struct fleet_connection *c);

json_t *fleet_connection_json(const struct fleet_connection *c);
void fleet_connection_fini(struct fleet_connection *c);
