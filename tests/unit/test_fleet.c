/* SPDX-License-Identifier: Apache-2.0 */
/* The fleet's messages, keys, selectors, sampling hash, budget, policy and what a node
 * remembers of a key. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "fleet/node/asker.h"
#include "fleet/node/budget.h"
#include "fleet/wire/bus.h"
#include "fleet/wire/key.h"
#include "fleet/wire/policy.h"
#include "fleet/wire/selector.h"

static void roundtrip(const struct fleet_message *m, struct fleet_message *out)
{
	auto_str struct str bytes = { 0 };

	message_encode(m, &bytes);
	assert_int_equal(message_decode(bytes.at, bytes.len, out), 0);
	assert_int_equal(out->kind, m->kind);
}

static void messages_survive_encoding(void **state)
{
	struct fleet_message m = { .kind = MESSAGE_ANSWER }, out;

	m.answer.verdict = VERDICT_BUDGET;
	m.answer.instance = UINT64_MAX;
	m.answer.nr_services = 2;
	strcpy(m.answer.node, "n1");
	strcpy(m.answer.why, "grün");
	strcpy(m.answer.services[1], "checkout");
	roundtrip(&m, &out);
	assert_memory_equal(&out.answer, &m.answer, sizeof(m.answer));

	m = (struct fleet_message){ .kind = MESSAGE_DONE };
	m.done.size = FLEET_BLOB_MAX;
	m.done.sha256[31] = 7;
	strcpy(m.done.node, "n1");
	roundtrip(&m, &out);
	assert_memory_equal(&out.done, &m.done, sizeof(m.done));

	m = (struct fleet_message){ .kind = MESSAGE_CHUNK };
	strcpy(m.chunk.node, "n1");
	m.chunk.data = (const u8 *)"bytes";
	m.chunk.len = 5;
	roundtrip(&m, &out);
	assert_memory_equal(out.chunk.data, "bytes", 5);
	message_fini(&out);

	m = (struct fleet_message){ .kind = MESSAGE_ALIVE, .alive.id = { 7 } };
	roundtrip(&m, &out);
	assert_memory_equal(&out.alive, &m.alive, sizeof(m.alive));
}

static int decode(const struct fleet_message *m)
{
	auto_str struct str bytes = { 0 };
	struct fleet_message out;

	message_encode(m, &bytes);
	int err = message_decode(bytes.at, bytes.len, &out);
	if (!err)
		message_fini(&out);
	return err;
}

static void values_outside_their_limits_are_refused(void **state)
{
	struct fleet_message answer = { .kind = MESSAGE_ANSWER, .answer.node = "n1" };
	struct fleet_message done = { .kind = MESSAGE_DONE, .done = { .node = "n1", .size = 1 } };
	struct fleet_message get = { .kind = MESSAGE_GET, .get.len = 1 };

	assert_int_equal(decode(&answer), 0);
	assert_int_equal(decode(&done), 0);
	assert_int_equal(decode(&get), 0);

	answer.answer.verdict = NR_VERDICTS;
	assert_int_equal(decode(&answer), -EBADMSG);
	answer.answer.verdict = 0;
	strcpy(answer.answer.why, "\x1b[2J");
	assert_int_equal(decode(&answer), -EBADMSG);
	strcpy(answer.answer.why, "");
	strcpy(answer.answer.node, "a.get"); /* it would be another subject */
	assert_int_equal(decode(&answer), -EBADMSG);
	done.done.size = FLEET_BLOB_MAX + 1;
	assert_int_equal(decode(&done), -EBADMSG);
	done.done.size = 0; /* accepted, without a result */
	assert_int_equal(decode(&done), -EBADMSG);
	get.get.len = FLEET_CHUNK_MAX + 1;
	assert_int_equal(decode(&get), -EBADMSG);
}

/* --samples adds them up: one node could decide how many others take part. */
static void a_node_uses_no_more_cpus_than_it_has(void **state)
{
	struct fleet_message out, m = { .kind = MESSAGE_ANSWER, .answer.node = "n1" };

	m.answer.nr_cpus = 4;
	m.answer.busy_ppm = 3999999;
	roundtrip(&m, &out);
	assert_int_equal(out.answer.busy_ppm, 3999999);
	m.answer.busy_ppm = 1ull << 62;
	roundtrip(&m, &out);
	assert_int_equal(out.answer.nr_cpus, 4);
	assert_int_equal(out.answer.busy_ppm, 4000000);
	m.answer.nr_cpus = 0; /* unknown */
	roundtrip(&m, &out);
	assert_int_equal(out.answer.busy_ppm, FLEET_CPUS_MAX * 1000000ull);
	m.answer.nr_cpus = UINT32_MAX;
	roundtrip(&m, &out);
	assert_int_equal(out.answer.nr_cpus, FLEET_CPUS_MAX);
}

static void other_versions_and_kinds_are_refused(void **state)
{
	struct fleet_message out;

	assert_int_equal(message_decode("\x02\x06", 2, &out), -EPROTONOSUPPORT);
	assert_int_equal(message_decode("\x01\x00", 2, &out), -EBADMSG);
	assert_int_equal(message_decode("\x01\x0a", 2, &out), -EBADMSG);
	assert_int_equal(message_decode("\x01", 1, &out), -EBADMSG);
	assert_int_equal(message_decode("\x01\x06\x0a\x7f", 4, &out), -EBADMSG);
}

static void a_signature_holds_for_its_key_and_bytes_only(void **state)
{
	u8 private_key[FLEET_KEY_LEN], public_key[FLEET_KEY_LEN];
	struct fleet_request r = { .selector = "zone=a", .sampling.seed = { 5 }, .nr_nodes = 7 },
			     read;
	struct fleet_signed m = { 0 };

	assert_int_equal(key_new(private_key, public_key), 0);
	assert_int_equal(request_encode(&r, &m), 0);
	assert_int_equal(key_sign(private_key, KEY_FOR_REQUEST, &m), 0);
	assert_memory_equal(m.key, public_key, FLEET_KEY_LEN);
	assert_true(key_has_signed(KEY_FOR_REQUEST, &m));
	assert_int_equal(request_decode(m.request, m.len, &read), 0);
	assert_memory_equal(&read, &r, sizeof(r));

	m.request[m.len - 1] ^= 1;
	assert_false(key_has_signed(KEY_FOR_REQUEST, &m));
	m.request[m.len - 1] ^= 1;
	m.signature[0] ^= 1;
	assert_false(key_has_signed(KEY_FOR_REQUEST, &m));
	m.signature[0] ^= 1;
	m.key[0] ^= 1;
	assert_false(key_has_signed(KEY_FOR_REQUEST, &m));
}

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void expect_keys(const char *text, size_t nr, const char *fault)
{
	auto_str struct str why = { 0 };
	struct fleet_keys k = { 0 };
	int err = keys_parse(text, &k, &why);

	assert_int_equal(err, fault ? -EINVAL : 0);
	if (fault)
		assert_non_null(strstr(why.at, fault));
	else
		assert_int_equal(k.all.nr, nr);
	keys_fini(&k);
}

static void a_file_of_keys_names_people_and_roles(void **state)
{
	auto_str struct str why = { 0 };
	struct fleet_keys k = { 0 };

	assert_int_equal(
		keys_parse("# people\n\n" HEX " profiler  anna shop,pay # x\r\n", &k, &why), 0);
	assert_int_equal(k.all.nr, 1);
	assert_int_equal(k.all.at[0].role, FLEET_PROFILER);
	assert_string_equal(k.all.at[0].person, "anna");
	assert_true(key_has_namespace(&k.all.at[0], "pay"));
	assert_false(key_has_namespace(&k.all.at[0], "sho"));
	assert_false(key_has_namespace(&k.all.at[0], ""));
	assert_ptr_equal(keys_find(&k, k.all.at[0].key), &k.all.at[0]);
	keys_fini(&k);

	expect_keys("", 0, NULL);
	expect_keys("\n" HEX " operator", 0, "line 2: expected");
	expect_keys(HEX "0 operator a", 0, "64 hexadecimal");
	expect_keys(HEX " admin a", 0, "a role is");
	expect_keys(HEX " profiler a", 0, "has namespaces");
	expect_keys(HEX " viewer a ns", 0, "has namespaces");
	expect_keys(HEX " viewer a\n" HEX " operator b", 0, "line 2: the key has a line");
}

static bool admits(const char *text, const char *labels)
{
	auto_str struct str why = { 0 };
	struct selector s;

	assert_int_equal(selector_parse(text, &s, &why), 0);
	return selector_admits(&s, labels);
}

static void all_terms_of_a_selector_must_hold(void **state)
{
	assert_true(admits("", ""));
	assert_true(admits("zone=a,version!=2", "node=n1,zone=a,version=1"));
	assert_false(admits("zone=a,version!=2", "node=n1,zone=a,version=2"));
	assert_false(admits("zone=a", "node=n1,zone=ab"));
	assert_false(admits("zone=a", "node=n1"));
	assert_true(admits("zone!=a", "node=n1"));
	assert_false(admits("zone=a,zone=b", "zone=a"));
	assert_true(admits("service=x,zone=a", "zone=a"));
	assert_true(admits("label=http.route=/a=b,zone=a", "zone=a"));
}

static void expect_fault(const char *text, const char *fault)
{
	auto_str struct str why = { 0 };
	struct selector s;

	assert_int_equal(selector_parse(text, &s, &why), -EINVAL);
	assert_non_null(strstr(why.at, fault));
}

static void a_wrong_selector_is_refused_with_its_position(void **state)
{
	expect_fault("zone", "character 5: expected = or !=");
	expect_fault("zone=", "character 6: expected a value");
	expect_fault("zone=a,", "character 8: expected another term");
	expect_fault(",zone=a", "character 1: expected a key");
	expect_fault("zone=a,pod!=x", "character 8: this key takes = only");
	expect_fault("pod=x,pod=y", "character 7: this key was used before");
	expect_fault("zone=a,label=route", "character 8: expected a label and its value");
	expect_fault("label==x", "character 1: expected a label and its value");
	expect_fault("label!=route=/a", "character 1: this key takes = only");
	expect_fault("a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1", "more than 8");
	expect_fault("zo ne=a", "character 3");
	expect_fault("zone=a\x01", "character 6: expected a value of 1 to 127 bytes of UTF-8");
	expect_fault("service=\xff", "character 9: expected a value");
}

static void labels_are_pairs_that_no_process_has(void **state)
{
	char labels[32] = "", value[8];

	assert_int_equal(labels_add(labels, sizeof(labels), "zone=a"), 0);
	assert_int_equal(labels_add(labels, sizeof(labels), "version=1.2"), 0);
	assert_string_equal(labels, "zone=a,version=1.2");
	assert_true(labels_find(labels, "version", value, sizeof(value)));
	assert_string_equal(value, "1.2");
	assert_int_equal(labels_add(labels, sizeof(labels), "service=a"), -EINVAL);
	assert_int_equal(labels_add(labels, sizeof(labels), "a=b,c=d"), -EINVAL);
	assert_int_equal(labels_add(labels, sizeof(labels), "a="), -EINVAL);
	assert_int_equal(labels_add(labels, sizeof(labels), "a"), -EINVAL);
	assert_int_equal(labels_add(labels, sizeof(labels), "long=0123456789"), -E2BIG);
	assert_int_equal(labels_add(labels, sizeof(labels), "a=\x1b[31m"), -EINVAL);
	assert_int_equal(labels_add(labels, sizeof(labels), "a=\xff"), -EINVAL);
	assert_int_equal(labels_add(labels, sizeof(labels), "a=\xc3\xbc"), 0);
	assert_int_equal(labels_add(labels, sizeof(labels), "zone=b"), -EEXIST);
	assert_int_equal(labels_add(labels, sizeof(labels), "node=n2"), -EEXIST);
	assert_string_equal(labels, "zone=a,version=1.2,a=\xc3\xbc");
	assert_true(node_name_is_valid("node-1_a"));
	assert_false(node_name_is_valid("a.b"));
	assert_false(node_name_is_valid("*"));
	assert_false(node_name_is_valid(""));
}

/* A node that is certain: its rank is half of its hash. */
static bool takes(const u8 *seed, const char *node, u32 from_ppb, u32 to_ppb)
{
	struct sampling s = { .from_rank = from_ppb / 2, .to_rank = to_ppb / 2 };

	memcpy(s.seed, seed, sizeof(s.seed));
	return sampling_takes(&s, node, 0);
}

/* The number of nodes is binomial: 5 standard deviations are 5 * sqrt(10000 * 0.1 * 0.9) = 150. */
static void a_tenth_of_the_nodes_wins_the_coin(void **state)
{
	u8 id[FLEET_ID_LEN] = { 3 };
	u32 nr = 0, both = 0;

	for (int i = 0; i < 10000; i++) {
		auto_free char *name = xasprintf("node-%d", i);
		u8 other[FLEET_ID_LEN] = { 4 };
		bool wins = takes(id, name, 0, FLEET_PPB / 10);
		assert_int_equal(wins, takes(id, name, 0, FLEET_PPB / 10));
		assert_true(takes(id, name, 0, FLEET_PPB));
		assert_false(takes(id, name, 0, 0));
		assert_true(!wins || takes(id, name, 0, FLEET_PPB / 5));
		/* The waves of a request share no node. */
		assert_int_equal(takes(id, name, 0, FLEET_PPB / 20) +
					 takes(id, name, FLEET_PPB / 20, FLEET_PPB / 10),
				 wins);
		nr += wins;
		both += wins && takes(other, name, 0, FLEET_PPB / 10);
	}
	assert_in_range(nr, 850, 1150);
	assert_in_range(both, 50, 150); /* another request chooses others */
}

static void chances_follow_the_use_of_cpus(void **state)
{
	struct sampling s = { .cpu_ppb = FLEET_PPB / 10, .least_ppb = 1000, .unknown_ppb = 7 };
	u32 hash = sampling_hash(s.seed, "n1");

	assert_int_equal(sampling_chance(&s, 2000000), FLEET_PPB / 5);
	assert_int_equal(sampling_chance(&s, UINT64_MAX), FLEET_PPB);
	assert_int_equal(sampling_chance(&s, 1), 1000);
	assert_int_equal(sampling_chance(&s, 0), 7);
	assert_int_equal(sampling_rank(&s, "n1", UINT64_MAX), hash / 2);
	assert_int_equal(sampling_rank(&s, "n1", 5000000),
			 (u64)hash * 2 < UINT32_MAX ? hash * 2 : UINT32_MAX);
	assert_int_equal(sampling_rank(&s, "n1", 0), UINT32_MAX);
	s.to_rank = UINT32_MAX; /* all, those beyond the largest number included */
	assert_true(sampling_takes(&s, "n1", 0));
	s.to_rank--;
	assert_false(sampling_takes(&s, "n1", 0));
	s = (struct sampling){ .unknown_ppb = 1 };
	assert_int_equal(sampling_chance(&s, 5),
			 1); /* a chance of 0 would be a weight without end */
}

static void the_budget_refills_within_a_day(void **state)
{
	const u64 start = 1000 * NS_PER_SEC, day = 24 * 3600 * NS_PER_SEC;
	struct budget b;

	budget_init(&b, 4, start);
	u64 full = budget_left(&b, start);
	assert_int_equal(full, 4 * day / 1000);
	budget_take(&b, full / 2, start);
	assert_int_equal(budget_left(&b, start), full / 2);
	budget_take(&b, full, start);
	assert_int_equal(budget_left(&b, start), 0);
	for (u64 s = 1; s <= 3600; s++) /* many small steps lose nothing */
		budget_left(&b, start + s * NS_PER_SEC);
	assert_in_range(budget_left(&b, start + day / 24), full / 24 - 4000, full / 24);
	assert_int_equal(budget_left(&b, start + 3 * day), full);
}

static enum verdict allowed(const struct fleet_request *r, const char *selector,
			    enum fleet_role role)
{
	const struct policy_caps caps = { .max_hz = 99, .max_duration_s = 600 };
	struct fleet_key k = { .role = role, .person = "anna", .namespaces = "shop,pay" };
	auto_str struct str why = { 0 };
	struct selector s;

	assert_int_equal(selector_parse(selector, &s, &why), 0);
	enum verdict v = policy_allows(r, &s, &k, &caps, &why);
	assert_true(!v == !why.len);
	return v;
}

static void roles_bound_what_a_request_may_ask(void **state)
{
	struct fleet_request rec = {
		.want = WANT_RECORDING, .events = "cpu", .hz = 99, .duration_s = 30
	};
	struct fleet_request ago = { .want = WANT_SLICES, .duration_s = 60, .ago_s = 60 };

	assert_int_equal(allowed(&rec, "", FLEET_OPERATOR), VERDICT_ACCEPT);
	assert_int_equal(allowed(&rec, "", FLEET_VIEWER), VERDICT_POLICY);
	assert_int_equal(allowed(&ago, "", FLEET_VIEWER), VERDICT_ACCEPT);
	assert_int_equal(allowed(&rec, "", FLEET_PROFILER), VERDICT_POLICY);
	assert_int_equal(allowed(&ago, "", FLEET_PROFILER), VERDICT_POLICY);
	assert_int_equal(allowed(&rec, "namespace=pay", FLEET_PROFILER), VERDICT_ACCEPT);
	assert_int_equal(allowed(&rec, "namespace=bank", FLEET_PROFILER), VERDICT_POLICY);
}

static void more_than_200_nodes_take_an_operator(void **state)
{
	struct fleet_request r = { .want = WANT_SLICES, .duration_s = 60 };

	r.nr_nodes = 200;
	assert_int_equal(allowed(&r, "", FLEET_VIEWER), VERDICT_ACCEPT);
	r.nr_nodes = 201;
	assert_int_equal(allowed(&r, "", FLEET_VIEWER), VERDICT_POLICY);
	assert_int_equal(allowed(&r, "", FLEET_OPERATOR), VERDICT_ACCEPT);
	r.want = WANT_CENSUS;
	assert_int_equal(allowed(&r, "", FLEET_VIEWER), VERDICT_ACCEPT);
	r.want = WANT_AUDIT;
	assert_int_equal(allowed(&r, "", FLEET_VIEWER), VERDICT_POLICY);
}

static void caps_are_the_last_word(void **state)
{
	struct fleet_request r = {
		.want = WANT_RECORDING, .events = "cpu", .hz = 100, .duration_s = 30
	};

	assert_int_equal(allowed(&r, "", FLEET_OPERATOR), VERDICT_POLICY); /* recorder.conf: 99 */
	r.hz = 99;
	r.duration_s = 301; /* recorder.conf allows 600, a fleet 300 */
	assert_int_equal(allowed(&r, "", FLEET_OPERATOR), VERDICT_POLICY);
	r.duration_s = 0;
	assert_int_equal(allowed(&r, "", FLEET_OPERATOR), VERDICT_POLICY);
	r = (struct fleet_request){ .want = WANT_SLICES, .duration_s = 3601 };
	assert_int_equal(allowed(&r, "", FLEET_OPERATOR), VERDICT_POLICY);
	r.duration_s = 3600;
	assert_int_equal(allowed(&r, "", FLEET_OPERATOR), VERDICT_ACCEPT);
}

static void clocks_may_differ_by_a_minute(void **state)
{
	struct fleet_request r = { .sent_ms = 10000000 };
	auto_str struct str why = { 0 };

	assert_int_equal(policy_time(&r, 10060000, &why), VERDICT_ACCEPT);
	assert_int_equal(policy_time(&r, 10060001, &why), VERDICT_EXPIRED);
	assert_int_equal(policy_time(&r, 9940000, &why), VERDICT_ACCEPT);
	assert_int_equal(policy_time(&r, 9939999, &why), VERDICT_CLOCK);
	r.sent_ms = UINT64_MAX;
	assert_int_equal(policy_time(&r, 10000000, &why), VERDICT_CLOCK);
}

static void a_nonce_counts_once_until_it_expires(void **state)
{
	u8 nonce[FLEET_ID_LEN] = { 1 };
	struct asker a = { 0 };

	assert_int_equal(asker_add_nonce(&a, nonce, 1000, 2000), 0);
	assert_int_equal(asker_add_nonce(&a, nonce, 1999, 3000), -EEXIST);
	assert_int_equal(asker_add_nonce(&a, nonce, 2000, 3000), 0);
	assert_int_equal(a.nonces.nr, 1);
	asker_fini(&a);
}

static void a_key_asks_once_a_second_after_a_burst(void **state)
{
	u64 now = 1000 * NS_PER_SEC;
	struct asker a = { 0 };

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < ASKER_BURST; i++) {
			assert_true(asker_may(&a, now));
			asker_count(&a, now);
		}
		assert_false(asker_may(&a, now));
		now += NS_PER_SEC;
		assert_true(asker_may(&a, now));
		asker_count(&a, now);
		assert_false(asker_may(&a, now));
		now += ASKER_BURST * NS_PER_SEC;
	}
}

static void secrets_of_an_address_are_not_shown(void **state)
{
	static const struct {
		const char *given, *shown;
	} all[] = {
		{ "nats://h:4222", "nats://h:4222" },
		{ "nats://u:p@h:4222,tls://token@[::1]:1", "nats://h:4222,tls://[::1]:1" },
		{ "u:p@s@h", "h" },
		{ "h@", "" },
		{ "", "" },
		{ ",nats://a@b", "nats://b" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		auto_free char *shown = bus_url_shown(all[i].given);
		assert_string_equal(shown, all[i].shown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_survive_encoding),
		cmocka_unit_test(values_outside_their_limits_are_refused),
		cmocka_unit_test(a_node_uses_no_more_cpus_than_it_has),
		cmocka_unit_test(other_versions_and_kinds_are_refused),
		cmocka_unit_test(a_signature_holds_for_its_key_and_bytes_only),
		cmocka_unit_test(a_file_of_keys_names_people_and_roles),
		cmocka_unit_test(all_terms_of_a_selector_must_hold),
		cmocka_unit_test(a_wrong_selector_is_refused_with_its_position),
		cmocka_unit_test(labels_are_pairs_that_no_process_has),
		cmocka_unit_test(a_tenth_of_the_nodes_wins_the_coin),
		cmocka_unit_test(chances_follow_the_use_of_cpus),
		cmocka_unit_test(the_budget_refills_within_a_day),
		cmocka_unit_test(roles_bound_what_a_request_may_ask),
		cmocka_unit_test(more_than_200_nodes_take_an_operator),
		cmocka_unit_test(caps_are_the_last_word),
		cmocka_unit_test(clocks_may_differ_by_a_minute),
		cmocka_unit_test(secrets_of_an_address_are_not_shown),
		cmocka_unit_test(a_nonce_counts_once_until_it_expires),
		cmocka_unit_test(a_key_asks_once_a_second_after_a_burst),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
