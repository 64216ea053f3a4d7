/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a node. */
#include "fleet/policy.h"

#include <string.h>

enum verdict policy_time(const struct fleet_request *r, u64 now_ms, struct str *why)
{
	if (r->sent_ms > now_ms && r->sent_ms - now_ms > POLICY_CLOCK_MS) {
		str_addf(why, "The request was sent %llu s from now: a clock is wrong.",
			 (unsigned long long)(r->sent_ms - now_ms) / 1000);
		return VERDICT_CLOCK;
	}
	if (r->sent_ms < now_ms && now_ms - r->sent_ms > POLICY_CLOCK_MS) {
		str_addf(why, "The request is %llu s old; 60 s are allowed. A clock may be wrong.",
			 (unsigned long long)(now_ms - r->sent_ms) / 1000);
		return VERDICT_EXPIRED;
	}
	return VERDICT_ACCEPT;
}

/* A node whose recorder has not started yet knows no limit of its own. */
static u32 limit(u32 most, u32 of_node)
{
	return of_node && of_node < most ? of_node : most;
}

/* Nodes that take part, with those of the other waves. */
static u64 nr_nodes(const struct fleet_request *r)
{
	return r->nr_nodes ?: (u64)r->nr_matched * r->share_ppb / FLEET_PPB;
}

static enum verdict check_role(const struct fleet_request *r, const struct selector *s,
			       const struct fleet_key *k, struct str *why)
{
	const char *ns = s->processes[SELECTOR_NAMESPACE];

	if (k->role == FLEET_OPERATOR)
		return VERDICT_ACCEPT;
	if (k->role == FLEET_VIEWER && r->want == WANT_RECORDING)
		str_addf(why, "%s is a viewer: slices (--ago) are allowed, recordings are not.",
			 k->person);
	else if (r->want == WANT_AUDIT)
		str_add(why, "The list of what was asked takes an operator.");
	else if (k->role == FLEET_PROFILER && r->want != WANT_CENSUS && !*ns)
		str_addf(why, "%s may profile %s: select namespace=NAME.", k->person,
			 k->namespaces);
	else if (k->role == FLEET_PROFILER && *ns && !key_has_namespace(k, ns))
		str_addf(why, "%s may profile %s, not %s.", k->person, k->namespaces, ns);
	else if (r->want == WANT_RECORDING && r->hz > POLICY_HZ_PROFILER)
		str_addf(why, "More than %d Hz take an operator.", POLICY_HZ_PROFILER);
	else if (r->want != WANT_CENSUS && nr_nodes(r) > POLICY_NODES)
		str_addf(why, "%llu nodes are more than %d: they take an operator.",
			 (unsigned long long)nr_nodes(r), POLICY_NODES);
	else
		return VERDICT_ACCEPT;
	return VERDICT_POLICY;
}

static bool is_in(const char *list, const char *name, size_t len)
{
	for (const char *at = list; *at;) {
		size_t nr = strcspn(at, "+");
		if (nr == len && !strncmp(at, name, len))
			return true;
		at += nr + (at[nr] != '\0');
	}
	return false;
}

/* An event's name ends at the first colon: arguments follow. */
static bool allows_events(const char *allowed, const char *events)
{
	for (const char *at = events; allowed && *allowed && *at;) {
		size_t len = strcspn(at, ",");
		size_t name = strcspn(at, ":,");
		if (!is_in(allowed, at, name))
			return false;
		at += len + (at[len] != '\0');
	}
	return true;
}

static enum verdict check_caps(const struct fleet_request *r, const struct policy_caps *caps,
			       struct str *why)
{
	u32 hz = limit(POLICY_HZ_MAX, caps->max_hz);
	u32 duration_s = limit(POLICY_DURATION_S, caps->max_duration_s);

	if (r->want == WANT_RECORDING && r->hz > hz)
		str_addf(why, "%u Hz are more than this node's %u.", r->hz, hz);
	else if (r->want == WANT_RECORDING && (!r->duration_s || r->duration_s > duration_s))
		str_addf(why, "%u s are not within this node's 1 to %u.", r->duration_s,
			 duration_s);
	else if (r->want == WANT_SLICES && (!r->duration_s || r->duration_s > POLICY_RANGE_S))
		str_addf(why, "A range has 1 to %u s, not %u.", POLICY_RANGE_S, r->duration_s);
	else if (r->want == WANT_SLICES && r->ago_s > POLICY_AGO_S)
		str_add(why, "Slices are at most 30 days old.");
	else if (r->want == WANT_RECORDING && !*r->events)
		str_add(why, "The request names no event.");
	else if (r->want == WANT_RECORDING && !allows_events(caps->events, r->events))
		str_addf(why, "The events are not among %s.", caps->events);
	else
		return VERDICT_ACCEPT;
	if (caps->by)
		str_addf(why, " The fleet has a policy of %s.", caps->by);
	return VERDICT_POLICY;
}

enum verdict policy_allows(const struct fleet_request *r, const struct selector *s,
			   const struct fleet_key *k, const struct policy_caps *caps,
			   struct str *why)
{
	enum verdict v = check_role(r, s, k, why);

	return v ? v : check_caps(r, caps, why);
}
