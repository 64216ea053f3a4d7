/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy of a fleet: limits for all nodes, signed by an operator (docs/fleet.md). It can only
 * lower what a node allows. Its text is a list of `KEY=VALUE`, joined by commas:
 *
 *   at=MILLISECONDS,by=PERSON,disabled=yes,max-hz=N,max-seconds=N,max-cpu-ppm=N,
 *   events=cpu+offcpu,reason=TEXT
 *
 * A key that is missing sets no limit. `reason` comes last and may contain commas.
 */
#pragma once

#include "fleet/key.h"
#include "fleet/policy.h"

#define FLEET_POLICY_SUBJECT "sysflame.v1.policy"
#define FLEET_POLICY_TEXT    512 /* bytes of the text */

struct fleet_policy {
	u64 at_ms;   /* time of the signature since 1970; the latest policy holds; 0: none */
	char by[64]; /* of a node "": none holds, or not any more */
	bool is_disabled;
	u32 max_hz, max_duration_s, cpu_ppm; /* 0: no limit */
	char events[128];                    /* joined by '+'; "": all */
	char reason[128];
	u32 nr_unknown; /* keys of a later version */
};

/*
 * Reads a text. -EINVAL and a sentence if it is malformed; *out is untouched then. Keys that it
 * does not know are counted.
 */
int fleet_policy_parse(const char *text, struct fleet_policy *out, struct str *why);

/* Appends the text, from which fleet_policy_parse makes the same policy. */
void fleet_policy_print(const struct fleet_policy *p, struct str *out);

/*
 * Signs it. -E2BIG: the text is too long; -EINVAL: nodes would refuse it as malformed; other
 * negative errno: it cannot be signed.
 */
int fleet_policy_sign(const struct fleet_policy *p, const u8 *private_key,
		      struct fleet_signed *out);

/*
 * Checks what anybody may have sent. -EACCES: no operator in `keys` has signed it. -EINVAL: it is
 * malformed, or from the future. Both with a sentence.
 */
int fleet_policy_open(const struct fleet_signed *m, const struct fleet_keys *keys, u64 now_ms,
		      struct fleet_policy *out, struct str *why);

/* Lowers the limits of a node. `caps` points into the policy afterwards. */
void fleet_policy_lower(const struct fleet_policy *p, struct policy_caps *caps);
