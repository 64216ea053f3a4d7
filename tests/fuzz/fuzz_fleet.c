/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes arbitrary bytes as a message or an entry of the fleet. A decoded one is encoded and
 * decoded again, and must stay the same.
 */
#include <stdlib.h>
#include <string.h>

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

static void check_request(const struct fleet_signed *m)
{
	auto_str struct str why = { 0 };
	struct fleet_request r;
	struct selector s;

	if (request_decode(m->request, m->len, &r))
		return;
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
	struct fleet_policy p, again = { 0 };
	auto_str struct str shown = { 0 };
	struct fleet_signed m;

	if (!size || size > sizeof(m.request))
		return;
	memcpy(m.request, data, size);
	m.len = (u32)size;
	if (policy_decode(&m, &p))
		return;
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
