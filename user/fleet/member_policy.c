/* SPDX-License-Identifier: Apache-2.0 */
/* The fleet's policy in a node (fleet/fleet_policy.h). Part of fleet/member.h. */
#include <string.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "fleet/member_state.h"

#define REFUSED_NS (60 * NS_PER_SEC) /* anybody may send one: one a minute is logged */

void member_limit_budget(struct member *n)
{
	if (n->has_budget)
		budget_limit(&n->budget, n->policy.cpu_ppm ?: BUDGET_PPM, member_now_ns(n));
}

bool member_has_policy(const struct member *n)
{
	return *n->policy.by != '\0';
}

/* Its time stays: an earlier one must not come back. It may itself, with the key. */
void member_check_policy(struct member *n)
{
	const struct fleet_key *key = keys_find(&n->keys, n->policy_key);

	if (!member_has_policy(n) || (key && key->role == FLEET_OPERATOR))
		return;
	log_warn("fleet: the policy of %s holds no longer: the key is no operator's any more",
		 n->policy.by);
	n->policy = (struct fleet_policy){ .at_ms = n->policy.at_ms };
	member_limit_budget(n);
}

static void refuse(struct member *n, const char *why)
{
	if (n->policy_refused_ns && member_now_ns(n) - n->policy_refused_ns < REFUSED_NS)
		return;
	n->policy_refused_ns = member_now_ns(n);
	log_warn("fleet: a policy was refused: %s", why);
}

static void apply(struct member *n, const struct fleet_policy *p)
{
	auto_str struct str text = { 0 };

	n->policy = *p;
	member_limit_budget(n);
	fleet_policy_print(p, &text);
	log_info("fleet: policy: %s", text.at);
	if (p->nr_unknown)
		log_warn("fleet: %u limits of the policy are of a later version and have no effect",
			 p->nr_unknown);
	auto_free char *what = xasprintf("fleet: policy: %s", text.at);
	n->host->audit(n->host->ctx, p->by, what);
}

void member_take_policy(struct member *n, const struct fleet_signed *m, const void *bytes,
			size_t len)
{
	auto_str struct str why = { 0 };
	struct fleet_policy p;

	if (fleet_policy_open(m, &n->keys, n->host->wall_ms(n->host->ctx), &p, &why)) {
		refuse(n, why.at);
		return;
	}
	if (p.at_ms < n->policy.at_ms)
		refuse(n, "it is older than the one that holds");
	if (p.at_ms < n->policy.at_ms || (p.at_ms == n->policy.at_ms && member_has_policy(n)))
		return;
	memcpy(n->policy_key, m->key, sizeof(n->policy_key));
	if (n->host->keep_policy)
		n->host->keep_policy(n->host->ctx, bytes, len);
	apply(n, &p);
}
