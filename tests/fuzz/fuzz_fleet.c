/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes arbitrary bytes as a message or an entry of the fleet. A decoded one is encoded and
 * decoded again, and must stay the same. Nobody may more than the role, the node and a policy say.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "fleet/wire/entry.h"
#include "fleet/wire/key.h"
#include "fleet/wire/policy.h"
#include "fleet/wire/selector.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void check(bool is_right)
{
	if (!is_right)
		abort();
}

static bool has_only(const char *events, const char *allowed)
{
	auto_free char *copy = strdup(events), *all = NULL;
	char *rest = copy, *one;

	while ((one = strsep(&rest, ","))) {
		one[strcspn(one, ":")] = '\0';
		auto_free char *name = xasprintf(",%s,", one), *list = xasprintf(",%s,", allowed);
		if (*one && !strstr(list, name))
			return false;
	}
	return true;
}

/* What a key may at most, whatever it has signed. `p` may be NULL. */
static void check_allowed(const struct fleet_request *r, const struct selector *s,
			  const struct fleet_key *k, const struct fleet_policy *p)
{
	const char *ns = s->processes[SELECTOR_NAMESPACE];
	bool is_operator = k->role == FLEET_OPERATOR, records = r->want == WANT_RECORDING;

	check(is_operator || r->want == WANT_CENSUS || r->nr_nodes <= POLICY_NODES);
	check(is_operator || r->want != WANT_AUDIT);
	check(!records || k->role != FLEET_VIEWER);
	check(!records || (r->hz <= 150 && r->duration_s && r->duration_s <= 200 && *r->events));
	check(!records || is_operator || r->hz <= POLICY_HZ_PROFILER);
	check(k->role != FLEET_PROFILER || (!*ns && r->want == WANT_CENSUS) ||
	      !strcmp(ns, "shop") || !strcmp(ns, "pay"));
	check(r->want != WANT_SLICES || (r->duration_s && r->duration_s <= POLICY_RANGE_S));
	if (!p || !records)
		return;
	check(!p->max_hz || r->hz <= p->max_hz);
	check(!p->max_duration_s || r->duration_s <= p->max_duration_s);
	check(!*p->events || has_only(r->events, p->events));
}

/* A policy only lowers what a node allows, and an operator may whatever others may. */
static void check_rules(const struct fleet_request *r, const struct fleet_policy *p)
{
	const struct policy_caps caps = { 150, 200, NULL }, lower = { 150, 200, p };
	auto_str struct str fault = { 0 };
	bool any = false, any_lower = false;
	struct selector s;

	if (selector_parse(r->selector, &s, &fault))
		return;
	for (int role = 0; role < NR_FLEET_ROLES; role++) {
		struct fleet_key k = { .role = role, .person = "otto" };
		auto_str struct str why = { 0 }, why_lower = { 0 };
		if (role == FLEET_PROFILER)
			strcpy(k.namespaces, "shop,pay");
		bool may = !policy_allows(r, &s, &k, &caps, &why);
		bool may_lower = !policy_allows(r, &s, &k, &lower, &why_lower);
		check(may == !why.len && may_lower == !why_lower.len && (may || !may_lower));
		check(!why.len || utf8_is_clean(why.at, why.len));
		if (may)
			check_allowed(r, &s, &k, NULL);
		if (may_lower)
			check_allowed(r, &s, &k, p);
		any |= may;
		any_lower |= may_lower;
		check(role != FLEET_OPERATOR || (may == any && may_lower == any_lower));
	}
}

static void check_request(const struct fleet_signed *m)
{
	static const struct fleet_policy policy = {
		.at_ms = 1, .by = "anna", .max_hz = 49, .max_duration_s = 60, .events = "cpu,offcpu"
	};
	auto_str struct str why = { 0 };
	struct fleet_request r;
	struct selector s;

	if (request_decode(m->request, m->len, &r))
		return;
	check_rules(&r, &policy);
	check(r.want < NR_WANTS && r.sampling.from_rank <= r.sampling.to_rank);
	check(utf8_is_clean(r.reason, sizeof(r.reason) - 1));
	if (!selector_parse(r.selector, &s, &why))
		selector_admits(&s, "node=n1,zone=a");
}

static void check_keys(const u8 *data, size_t size)
{
	auto_free char *text = strndup((const char *)data, size);
	auto_str struct str why = { 0 };
	struct fleet_keys keys = { 0 };

	if (!keys_parse(text, &keys, &why))
		for (size_t i = 0; i < keys.all.nr; i++)
			check(keys.all.at[i].role < NR_FLEET_ROLES);
	keys_fini(&keys);
}

static void check_policy(const u8 *data, size_t size)
{
	static const u8 key[FLEET_KEY_LEN] = { 1 };
	static const struct fleet_request request = { .want = WANT_RECORDING,
						      .selector = "namespace=shop",
						      .events = "cpu,uprobe:/bin/x:main",
						      .hz = 49,
						      .duration_s = 30 };
	struct fleet_policy p, again = { 0 };
	auto_str struct str shown = { 0 };
	struct fleet_signed m;

	if (!size || size > sizeof(m.request))
		return;
	memcpy(m.request, data, size);
	m.len = (u32)size;
	if (policy_decode(&m, &p))
		return;
	check_rules(&request, &p);
	policy_print(&p, &shown);
	check(utf8_is_clean(p.reason, sizeof(p.reason) - 1) && utf8_is_clean(shown.at, shown.len));
	check(p.at_ms && p.max_hz <= POLICY_HZ_MAX && p.max_duration_s <= POLICY_DURATION_S);
	check(!policy_sign(&p, key, &m) && !policy_decode(&m, &again));
	p.has_unknown = false;
	check(!memcmp(&again, &p, sizeof(p)));
}

static void check_entry(const u8 *data, size_t size)
{
	auto_str struct str line = { 0 };
	struct entry e, again;

	if (entry_parse(data, size, &e))
		return;
	check(utf8_is_clean(e.who, ENTRY_WHO_MAX) && utf8_is_clean(e.what, ENTRY_WHAT_MAX));
	entry_add(&line, e.at_ms, e.who, e.what);
	check(line.len <= ENTRY_MAX && !entry_parse(line.at, line.len, &again));
	check(again.at_ms == e.at_ms && !strcmp(again.what, e.what) && !strcmp(again.who, e.who));
	entry_fini(&again);
	entry_fini(&e);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	auto_str struct str bytes = { 0 };
	struct fleet_message m, again;

	check_keys(data, size);
	check_entry(data, size);
	check_policy(data, size);
	if (message_decode(data, size, &m))
		return 0;
	if (m.kind == MESSAGE_SIGNED)
		check_request(&m.sealed);
	message_encode(&m, &bytes);
	check(!message_decode(bytes.at, bytes.len, &again) && again.kind == m.kind);
	if (m.kind == MESSAGE_CHUNK)
		check(again.chunk.len == m.chunk.len);
	message_fini(&m);
	message_fini(&again);
	return 0;
}
