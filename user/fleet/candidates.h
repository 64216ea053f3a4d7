/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a census that match, and the share of them that an order selects. */
#pragma once

#include "fleet/controller.h"

struct candidates {
	u32 *coins; /* of the nodes, sorted; owned */
	size_t nr;
	double busy; /* CPUs that they use together */
};

/* Takes the nodes that match. *out is zero. */
void candidates_take(struct candidates *out, const struct gather *census, const u8 *coin);
void candidates_fini(struct candidates *all);

/* Above 0, at most 1. */
double candidates_share(const struct candidates *all, const struct controller_order *o);
