/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a node, and those that an operator has signed for all nodes. */
#include "fleet/wire/policy.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "fleet.pb-c.h"
#include "fleet/wire/selector.h"

static bool take_text(char *field, size_t size, const char *text)
{
	if (!utf8_is_clean(text, size - 1))
		return false;
	copy_text(field, size, text);
	return true;
}

/* "cpu,offcpu": names without arguments; "" allows all. */
static bool are_event_names(const char *events)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-.,";
	size_t len = strlen(events);

	return !len || (!events[strspn(events, letters)] && !strstr(events, ",,") &&
			events[0] != ',' && events[len - 1] != ',');
}

static bool take_policy(const Fleet__Policy *in, struct fleet_policy *out)
{
	*out = (struct fleet_policy){ .at_ms = in->at_ms,
				      .is_off = in->is_off,
				      .max_hz = in->max_hz,
				      .max_duration_s = in->max_seconds,
				      .cpu_ppm = in->max_cpu_ppm,
				      .has_unknown = in->base.n_unknown_fields };
	return in->at_ms && in->at_ms <= INT64_MAX && in->max_hz <= POLICY_HZ_MAX &&
	       in->max_seconds <= POLICY_DURATION_S && in->max_cpu_ppm <= POLICY_CPU_PPM &&
	       are_event_names(in->events) && (!*in->by || node_name_is_valid(in->by)) &&
	       take_text(out->by, sizeof(out->by), in->by) &&
	       take_text(out->events, sizeof(out->events), in->events) &&
	       take_text(out->reason, sizeof(out->reason), in->reason);
}

int policy_decode(const struct fleet_signed *m, struct fleet_policy *out)
{
	Fleet__Policy *in = fleet__policy__unpack(NULL, m->len, m->request);
	struct fleet_policy p;
	bool is_right = in && take_policy(in, &p);

	fleet__policy__free_unpacked(in, NULL);
	if (is_right)
		*out = p;
	return is_right ? 0 : -EBADMSG;
}

int policy_sign(const struct fleet_policy *p, const u8 *private_key, struct fleet_signed *out)
{
	Fleet__Policy m = FLEET__POLICY__INIT;
	struct fleet_policy read;

	m.at_ms = p->at_ms;
	m.by = (char *)p->by;
	m.is_off = p->is_off;
	m.max_hz = p->max_hz;
	m.max_seconds = p->max_duration_s;
	m.max_cpu_ppm = p->cpu_ppm;
	m.events = (char *)p->events;
	m.reason = (char *)p->reason;
	_Static_assert(sizeof(out->request) > sizeof(*p) + 64, "each policy fits");
	out->len = (u32)fleet__policy__pack(&m, out->request);
	return policy_decode(out, &read) ?: key_sign(private_key, KEY_FOR_POLICY, out);
}

const char *policy_open(const struct fleet_signed *m, const struct fleet_keys *keys, u64 now_ms,
			struct fleet_policy *out)
{
	const struct fleet_key *key = keys_find(keys, m->key);
	struct fleet_policy p;

	if (!key)
		return "this node does not know the key";
	if (key->role != FLEET_OPERATOR)
		return "its signer is no operator";
	if (!key_has_signed(KEY_FOR_POLICY, m))
		return "the signature is not right";
	if (policy_decode(m, &p))
		return "it is malformed";
	/* A policy from the future would win over all later ones. */
	if (p.at_ms > now_ms + POLICY_CLOCK_MS)
		return "it comes from the future: a clock is wrong";
	/* take the name from the key, not from the policy */
	copy_text(p.by, sizeof(p.by), key->person);
	*out = p;
	return NULL;
}

static void add_limit(struct str *out, size_t begin, const char *name, u32 value)
{
	if (value)
		str_addf(out, "%s%s %u", out->len > begin ? ", " : "", name, value);
}

void policy_print(const struct fleet_policy *p, struct str *out)
{
	size_t begin = out->len;

	str_add(out, p->is_off ? "off" : "");
	add_limit(out, begin, "max-hz", p->max_hz);
	add_limit(out, begin, "max-seconds", p->max_duration_s);
	add_limit(out, begin, "max-cpu-ppm", p->cpu_ppm);
	if (*p->events)
		str_addf(out, "%sevents %s", out->len > begin ? ", " : "", p->events);
	if (out->len == begin)
		str_add(out, "no limits");
	if (*p->reason)
		str_addf(out, " (%s)", p->reason);
}

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
static u32 limit(u32 most, u32 of_node, u32 of_fleet)
{
	most = of_node && of_node < most ? of_node : most;
	return of_fleet && of_fleet < most ? of_fleet : most;
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
	else if (r->want != WANT_CENSUS && r->nr_nodes > POLICY_NODES)
		str_addf(why, "%u nodes are more than %d: they take an operator.", r->nr_nodes,
			 POLICY_NODES);
	else
		return VERDICT_ACCEPT;
	return VERDICT_POLICY;
}

static bool is_in(const char *list, const char *name, size_t len)
{
	for (const char *at = list; *at;) {
		size_t nr = strcspn(at, ",");
		if (nr == len && !strncmp(at, name, len))
			return true;
		at += nr + (at[nr] != '\0');
	}
	return false;
}

/* An event's name ends at the first colon: arguments follow. */
static bool allows_events(const char *allowed, const char *events)
{
	for (const char *at = events; *allowed && *at;) {
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
	static const struct fleet_policy none;
	const struct fleet_policy *p = caps->fleet ?: &none;
	u32 hz = limit(POLICY_HZ_MAX, caps->max_hz, p->max_hz);
	u32 duration_s = limit(POLICY_DURATION_S, caps->max_duration_s, p->max_duration_s);

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
	else if (r->want == WANT_RECORDING && !allows_events(p->events, r->events))
		str_addf(why, "The events are not among %s.", p->events);
	else
		return VERDICT_ACCEPT;
	if (caps->fleet)
		str_addf(why, " The fleet has a policy of %s.", p->by);
	return VERDICT_POLICY;
}

enum verdict policy_allows(const struct fleet_request *r, const struct selector *s,
			   const struct fleet_key *k, const struct policy_caps *caps,
			   struct str *why)
{
	enum verdict v = check_role(r, s, k, why);

	return v ? v : check_caps(r, caps, why);
}
