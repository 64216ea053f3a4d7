/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a node may serve a request: by its own limits, and by those that an operator has signed
 * for all nodes (docs/fleet-operations.md). Nothing here has a state or a clock of its own.
 */
#pragma once

#include "fleet/wire/key.h"
#include "fleet/wire/selector.h"

#define POLICY_HZ_MAX       199
#define POLICY_HZ_PROFILER  99 /* more takes an operator */
#define POLICY_DURATION_S   300
#define POLICY_RANGE_S      3600
#define POLICY_AGO_S        (30 * 24 * 3600)
#define POLICY_CLOCK_MS     60000
#define POLICY_REQUESTS_MAX 2    /* at a time; an operator may have one more */
#define POLICY_CPU_PPM      1000 /* of all CPUs of the node: 0.1 %, over a day */
#define POLICY_NODES        200  /* most nodes of a request; only an operator may ask more */

#define POLICY_SUBJECT "sysflame.v1.policy"

/* Limits for all nodes. They can only lower what a node allows. */
struct fleet_policy {
	u64 at_ms;   /* time of the signature since 1970; the latest policy holds; 0: none */
	char by[64]; /* the signer; "": no policy holds */
	bool is_off;
	u32 max_hz, max_duration_s, cpu_ppm; /* 0: no limit */
	char events[128];                    /* names joined by commas; "": all */
	char reason[128];
	bool has_unknown; /* limits of a later version */
};

/*
 * Signs a policy. -EBADMSG: a value is outside its limits. Another negative errno: signing failed.
 */
int policy_sign(const struct fleet_policy *p, const u8 *private_key, struct fleet_signed *out);

/*
 * Reads a policy without checking its signature. -EBADMSG: it is malformed; *out is untouched then.
 */
int policy_decode(const struct fleet_signed *m, struct fleet_policy *out);

/*
 * Checks a policy that anybody may have sent. Returns NULL, or the reason for which it is refused:
 * it is malformed, from the future, or no operator in `keys` has signed it.
 */
const char *policy_open(const struct fleet_signed *m, const struct fleet_keys *keys, u64 now_ms,
			struct fleet_policy *out);

/* Prints a policy as "max-hz 49, events cpu,offcpu (a sale)". */
void policy_print(const struct fleet_policy *p, struct str *out);

/* Limits of the node; a request can only lower them. */
struct policy_caps {
	u32 max_hz, max_duration_s;       /* of /etc/sysflame/recorder.conf; 0: not known yet */
	const struct fleet_policy *fleet; /* NULL: the fleet has no policy */
};

/* ACCEPT, EXPIRED or CLOCK. Both times are of CLOCK_REALTIME, on two machines. */
enum verdict policy_time(const struct fleet_request *r, u64 now_ms, struct str *why);

/* ACCEPT, or POLICY with the reason. */
enum verdict policy_allows(const struct fleet_request *r, const struct selector *s,
			   const struct fleet_key *k, const struct policy_caps *caps,
			   struct str *why);
