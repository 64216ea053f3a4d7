/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's own opinion on a filter. */
#pragma once

#include "base/types.h"

/*
 * Sets the filter on a perf event of the tracepoint with that id, which is closed again. 0 or the
 * kernel's negative errno; *is_known is false if the event cannot be opened.
 */
int filter_check(u64 id, const char *filter, bool *is_known);
