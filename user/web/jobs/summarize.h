/* SPDX-License-Identifier: Apache-2.0 */
/* The facts about a profile that lists show. */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

#define SUMMARY_KINDS     5
#define SUMMARY_TOP       5
#define SUMMARY_ALERTS    5
#define SUMMARY_NAME_MAX  160 /* bytes */
#define SUMMARY_ALERT_MAX 400 /* bytes */

/* "java", "native", ..; i < SUMMARY_KINDS */
const char *summary_kind(u32 i);

/*
 * Appends a JSON object about the first value type of `p`:
 *
 *   kinds        shares of the total by the code that ran: java, native, kernel, jvm, other; kinds
 *                without any are left out
 *   top          at most five methods with their share of self weight: [{"name":..,"share":0.12}]
 *   total, unit  the sum of the weights
 *   events       "cpu,alloc": the names of the types, without those that only count samples
 *   alerts       at most five sentences on processes whose stacks lack callers and on JVMs without
 *                the agent
 *   samples, lost, truncated    counts; `lost` and `truncated` as the recorder noted them
 *   start_ms, duration_ms, rate_hz    0 if unknown
 *   host, target, title         "" if unknown
 */
void summarize(const struct profile *p, struct str *out);
