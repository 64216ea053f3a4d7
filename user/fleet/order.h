/* SPDX-License-Identifier: Apache-2.0 */
/* A controller's order as a request to nodes. */
#pragma once

#include "fleet/controller.h"

/* Of all nodes that match. The caller adds id, time and the hash of its secret. */
struct fleet_request order_request(const struct controller_order *o, enum fleet_want want);

/* Signs a request, and appends it as a message. Negative errno. */
int order_seal(const struct fleet_request *r, const u8 *private_key, struct str *out);
