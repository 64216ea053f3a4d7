/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a node may do what a request asks. Nothing here has a state or a clock of its own. */
#pragma once

#include "fleet/key.h"
#include "fleet/selector.h"

#define POLICY_HZ_MAX       199
#define POLICY_HZ_PROFILER  99 /* more takes an operator */
#define POLICY_DURATION_S   300
#define POLICY_RANGE_S      3600
#define POLICY_AGO_S        (30 * 24 * 3600)
#define POLICY_CLOCK_MS     60000
#define POLICY_REQUESTS_MAX 2   /* at a time */
#define POLICY_NODES        200 /* of one request; more take an operator */

/* Limits of the node; a request can only lower them. */
struct policy_caps {
	u32 max_hz, max_duration_s; /* of /etc/sysflame/recorder.conf; 0: not known yet */

	/* From the fleet's policy (fleet/fleet_policy.h). NULL: the fleet has no policy. */
	const char *by;     /* who signed it */
	const char *events; /* joined by '+'; "": all */
};

/* ACCEPT, EXPIRED or CLOCK. Both times are of CLOCK_REALTIME, on two machines. */
enum verdict policy_time(const struct fleet_request *r, u64 now_ms, struct str *why);

/* ACCEPT, or POLICY with the reason. */
enum verdict policy_allows(const struct fleet_request *r, const struct selector *s,
			   const struct fleet_key *k, const struct policy_caps *caps,
			   struct str *why);
