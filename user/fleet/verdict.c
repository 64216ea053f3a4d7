/* SPDX-License-Identifier: Apache-2.0 */
/* Names of verdicts. */
#include "fleet/verdict.h"

const char *verdict_name(enum verdict v)
{
	static const char *const names[NR_VERDICTS] = {
		"ACCEPT",    "NO_MATCH", "BUDGET",  "POLICY",   "BUSY",   "CLOCK",
		"SIGNATURE", "REPLAY",   "EXPIRED", "DISABLED", "FAILED",
	};

	return names[v];
}
