/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of a fleet: its text, who may sign it, and what a node does with it. */
#include "test.h"

#include <errno.h>

#include "base/log.h"
#include "fleet/fleet_policy.h"
#include "member_world.h"

/* Sends a node the policy with this text, signed by the key of the world's person. */
static void send_text(struct world *w, const char *text)
{
	struct fleet_message m = { .kind = MESSAGE_POLICY };
	auto_str struct str bytes = { 0 };

	m.sealed.len = (u32)strlen(text);
	memcpy(m.sealed.request, text, m.sealed.len);
	assert_int_equal(key_sign(w->private_key, KEY_FOR_POLICY, &m.sealed), 0);
	message_encode(&m, &bytes);
	member_message(w->member, "", bytes.at, bytes.len);
}

/* The same with a time, in seconds after that of the world's clock. */
static void send_policy(struct world *w, int after_s, const char *limits)
{
	auto_free char *text = xasprintf("at=%llu,by=anna%s%s",
					 (unsigned long long)(w->wall_ms + (u64)after_s * 1000),
					 *limits ? "," : "", limits);

	send_text(w, text);
}

static void expect_why(struct world *w, enum verdict v, const char *part)
{
	bring(w);
	assert_int_equal(w->gather.nodes.nr, 1);
	assert_int_equal(w->gather.nodes.at[0]->verdict, v);
	assert_non_null(strstr(w->gather.nodes.at[0]->why, part));
	forget(w);
}

static void a_text_is_printed_as_it_was_read(void **state)
{
	static const char text[] = "at=17,by=anna,disabled=yes,max-hz=49,max-seconds=60,"
				   "max-cpu-ppm=500,events=cpu+offcpu,reason=sale, until 9 h";
	auto_str struct str why = { 0 }, out = { 0 };
	struct fleet_policy p;

	assert_int_equal(fleet_policy_parse(text, &p, &why), 0);
	fleet_policy_print(&p, &out);
	assert_string_equal(out.at, text);
	assert_int_equal(p.nr_unknown, 0);
}

static void a_malformed_text_is_refused_with_its_part(void **state)
{
	static const char *const texts[] = {
		"max-hz=0",
		"max-hz=200",
		"max-hz=-1",
		"max-hz=4 ",
		"max-hz",
		"max-seconds=301",
		"disabled=1",
		"max-cpu-ppm=2000",
		"events=",
		"events=a b",
		"events=cpu+",
		"events=+cpu",
		"events=cpu++offcpu",
		"by=a b",
		"at=1,,by=a",
		"at=99999999999999999999",
		"reason=\x1b[31m",
		",max-hz=1",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		auto_str struct str why = { 0 };
		struct fleet_policy p = { .at_ms = 5 };
		assert_int_equal(fleet_policy_parse(texts[i], &p, &why), -EINVAL);
		assert_non_null(strstr(why.at, "no part of a policy"));
		assert_int_equal(p.at_ms, 5);
	}
}

static void a_limit_that_is_there_twice_is_refused(void **state)
{
	auto_str struct str why = { 0 };
	struct fleet_policy p = { .at_ms = 5 };

	assert_int_equal(fleet_policy_parse("max-hz=49,events=cpu,max-hz=100", &p, &why), -EINVAL);
	assert_string_equal(why.at, "max-hz is there twice");
	assert_int_equal(p.at_ms, 5);
	assert_int_equal(fleet_policy_parse("max-hz=49,reason=a,max-hz=1", &p, &why), 0);
}

static void what_nodes_would_refuse_is_not_signed(void **state)
{
	struct world *w = *state;
	struct fleet_policy p = { .at_ms = 1, .by = "anna", .reason = "a sale" };
	struct fleet_signed m;

	assert_int_equal(fleet_policy_sign(&p, w->private_key, &m), 0);
	strcpy(p.reason, "a\nb");
	assert_int_equal(fleet_policy_sign(&p, w->private_key, &m), -EINVAL);
}

static void limits_of_a_later_version_are_counted(void **state)
{
	auto_str struct str why = { 0 };
	struct fleet_policy p;

	assert_int_equal(fleet_policy_parse("at=1,max-moons=3,max-hz=7,x=", &p, &why), 0);
	assert_int_equal(p.nr_unknown, 2);
	assert_int_equal(p.max_hz, 7);
}

static void a_policy_lowers_and_never_raises(void **state)
{
	struct fleet_policy p = { .at_ms = 1, .max_hz = 49, .max_duration_s = 300 };
	struct policy_caps caps = { .max_hz = 99, .max_duration_s = 60 };

	fleet_policy_lower(&p, &caps);
	assert_int_equal(caps.max_hz, 49);
	assert_int_equal(caps.max_duration_s, 60);
}

static void limits_hold_until_they_are_lifted(void **state)
{
	struct world *w = *state;

	send_policy(w, 0, "max-hz=49");
	ask(w);
	expect_why(w, VERDICT_POLICY,
		   "99 Hz are more than this node's 49. The fleet has a policy of anna.");
	w->request.hz = 49;
	run_one(w);
	send_policy(w, 1, "max-seconds=29");
	ask(w);
	expect_why(w, VERDICT_POLICY, "30 s are not within this node's 1 to 29.");
	send_policy(w, 2, "");
	ask(w);
	assert_int_equal(w->nr_started, 2);
	assert_int_equal(w->nr_audited, 7); /* three policies, two refusals, two recordings */
}

static void other_events_than_those_named_are_refused(void **state)
{
	struct world *w = *state;

	send_policy(w, 0, "events=cpu+uprobe");
	strcpy(w->request.events, "cpu,uprobe:/bin/x:main");
	ask(w);
	assert_int_equal(w->nr_started, 1);
	strcpy(w->request.events, "cpu,offcpu");
	ask(w);
	expect_why(w, VERDICT_POLICY, "The events are not among cpu+uprobe.");
	strcpy(w->request.events, "cp");
	ask(w);
	expect_why(w, VERDICT_POLICY, "not among");
	assert_int_equal(w->nr_started, 1);
}

static void a_fleet_that_is_disabled_records_nothing_and_ends_what_runs(void **state)
{
	struct world *w = *state;

	run_one(w);
	send_policy(w, 0, "disabled=yes,reason=sale");
	member_tick(w->member);
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
	send_policy(w, 0, "max-cpu-ppm=10");
	for (int i = 0; i < 3; i++) {
		run_one(w);
		finish(w, "x", 1);
	}
	ask(w);
	expect(w, VERDICT_BUDGET);
	send_policy(w, 1, "");
	ask(w);
	expect(w, VERDICT_BUDGET); /* it refills slowly */
}

static void nobody_but_an_operator_signs_a_policy(void **state)
{
	struct world *w = *state;

	set_role(w, FLEET_PROFILER);
	send_policy(w, 0, "disabled=yes");
	set_role(w, FLEET_OPERATOR);
	w->private_key[0] ^= 1; /* a stranger */
	send_policy(w, 1, "disabled=yes");
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
	struct fleet_message m = { .kind = MESSAGE_POLICY };
	auto_free char *text =
		xasprintf("at=%llu,by=anna,disabled=yes", (unsigned long long)w->wall_ms);
	auto_str struct str bytes = { 0 };

	m.sealed.len = (u32)strlen(text);
	memcpy(m.sealed.request, text, m.sealed.len);
	assert_int_equal(key_sign(w->private_key, KEY_FOR_REQUEST, &m.sealed), 0);
	assert_true(key_has_signed(KEY_FOR_REQUEST, &m.sealed));
	assert_false(key_has_signed(KEY_FOR_POLICY, &m.sealed));
	message_encode(&m, &bytes);
	member_message(w->member, "", bytes.at, bytes.len);
	assert_int_equal(w->kept.len, 0);
}

static void an_older_policy_does_not_come_back(void **state)
{
	struct world *w = *state;

	send_policy(w, 0, "");
	auto_str struct str first = { 0 };
	str_add_bytes(&first, w->kept.at, w->kept.len);
	send_policy(w, 1, "max-hz=49");
	u32 nr_audited = w->nr_audited;
	member_message(w->member, "", first.at, first.len);
	assert_int_equal(w->nr_audited, nr_audited);
	ask(w);
	expect(w, VERDICT_POLICY);
	assert_memory_not_equal(w->kept.at, first.at, first.len);
	/* The same again, as after each connection, changes nothing. */
	str_clear(&first);
	str_add_bytes(&first, w->kept.at, w->kept.len);
	nr_audited = w->nr_audited;
	member_message(w->member, "", first.at, first.len);
	assert_int_equal(w->nr_audited, nr_audited);
}

/* It would hold for ever: no later one has a later time. */
static void a_policy_from_the_future_is_refused(void **state)
{
	struct world *w = *state;

	send_policy(w, 61, "disabled=yes");
	assert_int_equal(w->kept.len, 0);
	send_policy(w, 59, "max-hz=49");
	assert_true(w->kept.len > 0);
}

static void oversized_and_timeless_policies_are_refused(void **state)
{
	struct world *w = *state;
	char text[FLEET_POLICY_TEXT + 2];

	snprintf(text, sizeof(text), "at=%llu,disabled=yes,x=", (unsigned long long)w->wall_ms);
	memset(text + strlen(text), 'x', sizeof(text) - 1 - strlen(text));
	text[sizeof(text) - 1] = '\0';
	send_text(w, text);
	send_text(w, "disabled=yes");
	send_text(w, "");
	assert_int_equal(w->kept.len, 0);
	text[FLEET_POLICY_TEXT] = '\0';
	send_text(w, text);
	assert_true(w->kept.len > 0);
}

static void a_policy_ends_with_the_role_of_its_signer(void **state)
{
	struct world *w = *state;

	send_policy(w, 0, "max-hz=49");
	auto_str struct str first = { 0 };
	str_add_bytes(&first, w->kept.at, w->kept.len);
	set_role(w, FLEET_VIEWER);
	set_role(w, FLEET_OPERATOR);
	ask(w);
	assert_int_equal(w->nr_started, 1);
	/* It comes back with the key, an earlier one does not. */
	member_message(w->member, "", first.at, first.len);
	ask(w);
	expect_why(w, VERDICT_POLICY, "99 Hz are more than this node's 49.");
	assert_int_equal(w->nr_started, 1);
	set_role(w, FLEET_VIEWER);
	set_role(w, FLEET_OPERATOR);
	send_policy(w, -1, "max-hz=19");
	w->request.hz = 49;
	ask(w);
	assert_int_equal(w->nr_started, 2);
}

static void a_policy_that_has_ended_is_neither_reported_nor_a_reason(void **state)
{
	struct world *w = *state;

	send_policy(w, 0, "max-hz=49");
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

	send_policy(w, 0, "max-hz=49");
	member_free(w->member);
	w->member = member_new("n1", "zone=a", &w->host);
	set_role(w, FLEET_OPERATOR);
	auto_str struct str kept = { 0 };
	str_add_bytes(&kept, w->kept.at, w->kept.len);
	member_message(w->member, "", kept.at, kept.len);
	ask(w);
	expect(w, VERDICT_POLICY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_is_printed_as_it_was_read),
		cmocka_unit_test(a_malformed_text_is_refused_with_its_part),
		cmocka_unit_test(a_limit_that_is_there_twice_is_refused),
		TEST(what_nodes_would_refuse_is_not_signed),
		cmocka_unit_test(limits_of_a_later_version_are_counted),
		cmocka_unit_test(a_policy_lowers_and_never_raises),
		TEST(limits_hold_until_they_are_lifted),
		TEST(other_events_than_those_named_are_refused),
		TEST(a_fleet_that_is_disabled_records_nothing_and_ends_what_runs),
		TEST(a_smaller_share_of_the_cpus_is_spent_earlier),
		TEST(nobody_but_an_operator_signs_a_policy),
		TEST(the_signature_of_a_request_is_none_of_a_policy),
		TEST(an_older_policy_does_not_come_back),
		TEST(a_policy_from_the_future_is_refused),
		TEST(oversized_and_timeless_policies_are_refused),
		TEST(a_policy_ends_with_the_role_of_its_signer),
		TEST(a_policy_that_has_ended_is_neither_reported_nor_a_reason),
		TEST(a_kept_policy_holds_after_a_restart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
