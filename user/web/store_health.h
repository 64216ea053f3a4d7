/* SPDX-License-Identifier: Apache-2.0 */
/* Whether writes to the store succeed. */
#pragma once

#include "base/types.h"

struct store_health {
	int err; /* 0: the last write succeeded */
	u64 since_wall_ns;
	u64 nr_errors; /* writes that failed since the start */
};

/* Notes the result of a write. Logs the first failure, and the end of failures. */
void store_health_note(struct store_health *h, int err);

/* A sentence for the page; "" if all is well. */
const char *store_health_why(const struct store_health *h);
