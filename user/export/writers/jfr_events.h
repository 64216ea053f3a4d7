/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a JFR recording. The weights of a profile are sums; each becomes as many events as
 * it has samples.
 */
#pragma once

#include <stdio.h>

#include "export/writers/jfr_pools.h"

/*
 * Writes all events, or only counts their bytes if `out` is NULL. Adds their constants to `pools`.
 * -E2BIG if there would be too many.
 */
int jfr_write_events(const struct profile *p, struct jfr_pools *pools, FILE *out, u64 *bytes);
