/* SPDX-License-Identifier: Apache-2.0 */
/* What a cache takes, for gauges. */
#pragma once

#include "base/types.h"

struct cache_use {
	const char *name; /* of lower-case letters and '_' */
	u64 nr;           /* entries */
	u64 bytes;
	u64 budget_bytes; /* it drops entries to stay below */
};

typedef void (*cache_use_fn)(const struct cache_use *use, void *ctx);
