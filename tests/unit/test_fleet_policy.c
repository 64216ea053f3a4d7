/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of a fleet: its limits, who may sign it, and what a node does with it. */
#include "test.h"

#include <errno.h>

#include "base/log.h"
#include "fleet/wire/policy.h"
#include "node_agent_world.h"

/* Sends a node bytes as a policy, signed by the key of the world's person. */
static void send_bytes(struct world *w, enum key_use use, const void *bytes, size_t len)
{
	struct fleet_message m = { .kind = MESSAGE_POLICY, .sealed.len = (u32)len };
	auto_str struct str message = { 0 };

	memcpy(m.sealed.request, bytes, len);
	assert_int_equal(key_sign(w->private_key, use, &m.sealed), 0);
	message_encode(&m, &message);
	node_agent_message(w->agent, "", message.at, message.len);
}

/* A policy with a time, in seconds after that of the world's clock. */
static void send_policy(struct world *w, int after_s, struct fleet_policy p)
{
	struct fleet_signed m;

	p.at_ms = w->wall_ms + (u64)after_s * 1000;
	copy_text(p.by, sizeof(p.by), "anna");
	assert_int_equal(policy_sign(&p, w->private_key, &m), 0);
	send_bytes(w, KEY_FOR_POLICY, m.request, m.len);
}

#define POLICY(...) ((struct fleet_policy){ __VA_ARGS__ })

static void expect_why(struct world *w, enum verdict v, const char *part)
{
	bring(w);
	assert_int_equal(w->gather.nodes.nr, 1);
	assert_int_equal(w->gather.nodes.at[0]->verdict, v);
	assert_non_null(strstr(w->gather.nodes.at[0]->why, part));
	forget(w);
}

static void a_policy_is_read_as_it_was_signed(void **state)
{
	struct world *w = *state;
	const struct fleet_policy p = {
		17, "anna", true, 49, 60, 500, "cpu,offcpu", "sale", false
	};
	struct fleet_policy read = { 0 };
	auto_str struct str text = { 0 };
	struct fleet_signed m;

	assert_int_equal(policy_sign(&p, w->private_key, &m), 0);
	assert_int_equal(policy_decode(&m, &read), 0);
	assert_memory_equal(&read, &p, sizeof(p));
	policy_print(&read, &text);
	assert_string_equal(text.at, "off, max-hz 49, max-seconds 60, max-cpu-ppm 500, "
				     "events cpu,offcpu (sale)");
}

static void values_outside_their_limits_are_neither_signed_nor_taken(void **state)
{
	struct world *w = *state;
	const struct fleet_policy faulty[] = {
		{ .at_ms = 0 },
		{ .at_ms = UINT64_MAX },
		{ .at_ms = 1, .max_hz = 200 },
		{ .at_ms = 1, .max_duration_s = 301 },
		{ .at_ms = 1, .cpu_ppm = 1001 },
		{ .at_ms = 1, .events = "cpu+offcpu" },
		{ .at_ms = 1, .events = "uprobe:/bin/x:main" },
		{ .at_ms = 1, .events = "," },
		{ .at_ms = 1, .events = "cpu,,offcpu" },
		{ .at_ms = 1, .events = "cpu;offcpu" },
		{ .at_ms = 1, .by = "a b" },
		{ .at_ms = 1, .reason = "\x1b[31m" },
		{ .at_ms = 1, .reason = "a\nb" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(faulty); i++) {
		struct fleet_policy read = { .at_ms = 5 };
		struct fleet_signed m;
		assert_int_equal(policy_sign(&faulty[i], w->private_key, &m), -EBADMSG);
		assert_int_equal(policy_decode(&m, &read), -EBADMSG);
		assert_int_equal(read.at_ms, 5);
	}
}

static void limits_of_a_later_version_are_reported(void **state)
{
	/* Fields 1 (at_ms) = 1, 4 (max_hz) = 7, 15 = 3 */
	const struct fleet_signed m = { .request = { 0x08, 1, 0x20, 7, 0x78, 3 }, .len = 6 };
	struct fleet_policy p;

	assert_int_equal(policy_decode(&m, &p), 0);
	assert_true(p.has_unknown);
	assert_int_equal(p.max_hz, 7);
}

static void a_policy_never_raises_what_the_node_allows(void **state)
{
	struct world *w = *state;

	w->facts.caps.max_hz = 49;
	send_policy(w, 0, POLICY(.max_hz = 60));
	ask(w);
	expect_why(w, VERDICT_POLICY, "99 Hz are more than this node's 49.");
}

static void limits_hold_until_they_are_lifted(void **state)
{
	struct world *w = *state;

	send_policy(w, 0, POLICY(.max_hz = 49));
	ask(w);
	expect_why(w, VERDICT_POLICY,
		   "99 Hz are more than this node's 49. The fleet has a policy of anna.");
	w->request.hz = 49;
	run_one(w);
	send_policy(w, 1, POLICY(.max_duration_s = 29));
	ask(w);
	expect_why(w, VERDICT_POLICY, "30 s are not within this node's 1 to 29.");
	send_policy(w, 2, POLICY(0));
	ask(w);
	assert_int_equal(w->nr_started, 2);
	assert_int_equal(w->nr_audited, 6); /* three policies, a refusal, two recordings */
}

static void other_events_than_those_named_are_refused(void **state)
{
	struct world *w = *state;

	send_policy(w, 0, POLICY(.events = "cpu,uprobe"));
	strcpy(w->request.events, "cpu,uprobe:/bin/x:main");
	ask(w);
	assert_int_equal(w->nr_started, 1);
	strcpy(w->request.events, "cpu,offcpu");
	ask(w);
	expect_why(w, VERDICT_POLICY, "The events are not among cpu,uprobe.");
	strcpy(w->request.events, "cp");
	ask(w);
	expect_why(w, VERDICT_POLICY, "not among");
	assert_int_equal(w->nr_started, 1);
}

static void a_fleet_that_is_disabled_records_nothing_and_ends_what_runs(void **state)
{
	struct world *w = *state;

	run_one(w);
	send_policy(w, 0, POLICY(.is_off = true, .reason = "sale"));
	node_agent_tick(w->agent);
	assert_int_equal(w->nr_stopped, 1);
	ask(w);
	expect_why(w, VERDICT_DISABLED, "policy of anna disables all nodes: sale");
	w->request.want = WANT_CENSUS;
	ask(w);
	expect(w, VERDICT_DISABLED);
	assert_int_equal(w->gather.nodes.at[0]->policy_ms, w->wall_ms);
}

static void a_smaller_share_of_the_cpus_is_spent_earlier(void **state)
{
	struct world *w = *state;

	/* A day has 86,400 s of two CPUs; of that 10 millionths are 1.7 s. A recording takes 0.4 s.
	 */
	send_policy(w, 0, POLICY(.cpu_ppm = 10));
	for (int i = 0; i < 3; i++) {
		run_one(w);
		finish(w, "x", 1);
	}
	ask(w);
	expect(w, VERDICT_BUDGET);
	send_policy(w, 1, POLICY(0));
	ask(w);
	expect(w, VERDICT_BUDGET); /* it refills slowly */
}

static void nobody_but_an_operator_signs_a_policy(void **state)
{
	struct world *w = *state;

	set_role(w, FLEET_PROFILER);
	send_policy(w, 0, POLICY(.is_off = true));
	set_role(w, FLEET_OPERATOR);
	w->private_key[0] ^= 1; /* a stranger */
	send_policy(w, 1, POLICY(.is_off = true));
	w->private_key[0] ^= 1;
	w->request.want = WANT_CENSUS;
	ask(w);
	expect(w, VERDICT_ACCEPT);
	assert_int_equal(w->kept.len, 0);
	assert_int_equal(w->nr_audited, 0);
}

/* Else a request could be sent again as a policy, or the other way. */
static void the_signature_of_a_request_is_none_of_a_policy(void **state)
{
	struct world *w = *state;
	const struct fleet_policy p = { .at_ms = w->wall_ms, .is_off = true };
	struct fleet_signed m;

	assert_int_equal(policy_sign(&p, w->private_key, &m), 0);
	assert_true(key_has_signed(KEY_FOR_POLICY, &m));
	assert_false(key_has_signed(KEY_FOR_REQUEST, &m));
	send_bytes(w, KEY_FOR_REQUEST, m.request, m.len);
	assert_int_equal(w->kept.len, 0);
}

static void an_older_policy_does_not_come_back(void **state)
{
	struct world *w = *state;

	send_policy(w, 0, POLICY(0));
	auto_str struct str first = { 0 };
	str_add_bytes(&first, w->kept.at, w->kept.len);
	send_policy(w, 1, POLICY(.max_hz = 49));
	u32 nr_audited = w->nr_audited;
	node_agent_message(w->agent, "", first.at, first.len);
	assert_int_equal(w->nr_audited, nr_audited);
	ask(w);
	expect(w, VERDICT_POLICY);
	assert_memory_not_equal(w->kept.at, first.at, first.len);
	/* The same again, as after each connection, changes nothing. */
	str_clear(&first);
	str_add_bytes(&first, w->kept.at, w->kept.len);
	nr_audited = w->nr_audited;
	node_agent_message(w->agent, "", first.at, first.len);
	assert_int_equal(w->nr_audited, nr_audited);
}

/* It would hold for ever: no later one has a later time. */
static void a_policy_from_the_future_is_refused(void **state)
{
	struct world *w = *state;

	send_policy(w, 61, POLICY(.is_off = true));
	assert_int_equal(w->kept.len, 0);
	send_policy(w, 59, POLICY(.max_hz = 49));
	assert_true(w->kept.len > 0);
}

static void malformed_and_timeless_policies_are_refused(void **state)
{
	struct world *w = *state;
	const u8 hz[] = { 0x20, 7 };

	send_bytes(w, KEY_FOR_POLICY, "at=1,max-hz=49", 14);
	send_bytes(w, KEY_FOR_POLICY, hz, sizeof(hz));
	send_bytes(w, KEY_FOR_POLICY, "", 0);
	assert_int_equal(w->kept.len, 0);
}

static void a_policy_ends_with_the_role_of_its_signer(void **state)
{
	struct world *w = *state;

	send_policy(w, 0, POLICY(.max_hz = 49));
	auto_str struct str first = { 0 };
	str_add_bytes(&first, w->kept.at, w->kept.len);
	set_role(w, FLEET_VIEWER);
	set_role(w, FLEET_OPERATOR);
	ask(w);
	assert_int_equal(w->nr_started, 1);
	/* It comes back with the key, an earlier one does not. */
	node_agent_message(w->agent, "", first.at, first.len);
	ask(w);
	expect_why(w, VERDICT_POLICY, "99 Hz are more than this node's 49.");
	assert_int_equal(w->nr_started, 1);
	set_role(w, FLEET_VIEWER);
	set_role(w, FLEET_OPERATOR);
	send_policy(w, -1, POLICY(.max_hz = 19));
	w->request.hz = 49;
	ask(w);
	assert_int_equal(w->nr_started, 2);
}

static void a_policy_that_has_ended_is_neither_reported_nor_a_reason(void **state)
{
	struct world *w = *state;

	send_policy(w, 0, POLICY(.max_hz = 49));
	set_role(w, FLEET_VIEWER);
	set_role(w, FLEET_OPERATOR);
	w->request.hz = 199;
	w->request.duration_s = 301;
	ask(w);
	bring(w);
	assert_int_equal(w->gather.nodes.at[0]->verdict, VERDICT_POLICY);
	assert_null(strstr(w->gather.nodes.at[0]->why, "policy of"));
	assert_int_equal(w->gather.nodes.at[0]->policy_ms, 0);
}

static void a_kept_policy_holds_after_a_restart(void **state)
{
	struct world *w = *state;

	send_policy(w, 0, POLICY(.max_hz = 49));
	node_agent_free(w->agent);
	w->agent = node_agent_new("n1", "zone=a", &w->host);
	set_role(w, FLEET_OPERATOR);
	auto_str struct str kept = { 0 };
	str_add_bytes(&kept, w->kept.at, w->kept.len);
	node_agent_message(w->agent, "", kept.at, kept.len);
	ask(w);
	expect(w, VERDICT_POLICY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_policy_is_read_as_it_was_signed),
		TEST(values_outside_their_limits_are_neither_signed_nor_taken),
		cmocka_unit_test(limits_of_a_later_version_are_reported),
		TEST(a_policy_never_raises_what_the_node_allows),
		TEST(limits_hold_until_they_are_lifted),
		TEST(other_events_than_those_named_are_refused),
		TEST(a_fleet_that_is_disabled_records_nothing_and_ends_what_runs),
		TEST(a_smaller_share_of_the_cpus_is_spent_earlier),
		TEST(nobody_but_an_operator_signs_a_policy),
		TEST(the_signature_of_a_request_is_none_of_a_policy),
		TEST(an_older_policy_does_not_come_back),
		TEST(a_policy_from_the_future_is_refused),
		TEST(malformed_and_timeless_policies_are_refused),
		TEST(a_policy_ends_with_the_role_of_its_signer),
		TEST(a_policy_that_has_ended_is_neither_reported_nor_a_reason),
		TEST(a_kept_policy_holds_after_a_restart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
