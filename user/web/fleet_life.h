/* SPDX-License-Identifier: Apache-2.0 */
/* Signs of life of a node, for the list of nodes that were seen in the last 90 s. */
#pragma once

#include "base/types.h"

struct link;

struct fleet_life {
	u64 next_ns; /* when the next one is due, in monotonic time */
};

/* While the node is connected. Without JetStream nobody keeps them. */
void fleet_life_tick(struct fleet_life *f, struct link *l, const char *node, u64 now_ns);
