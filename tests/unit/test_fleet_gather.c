/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's side of a request, and the keys by which NATS knows clients. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "fleet/controller/gather.h"
#include "fleet/wire/jwt.h"
#include "fleet/wire/selector.h"
#include "gather_bytes.h"

static void publish(void *ctx, const char *subject, const char *reply, const void *bytes,
		    size_t len)
{
}

static int deliver(void *ctx, const struct gather_node *n)
{
	return 0;
}

static void stop(void *ctx, const char *node)
{
}

static const struct gather_host host = { .publish = publish, .stop = stop, .deliver = deliver };

static void a_node_cannot_answer_for_another(void **state)
{
	static const char *const subjects[] = { "_INBOX.o.x.answer.n2",  "_INBOX.o.x.answer.n",
						"_INBOX.o.x.answer.n11", "_INBOX.o.x.chunk.n1",
						"_INBOX.o.y.answer.n1",  "_INBOX.o.x" };
	const u8 id[FLEET_ID_LEN] = { 1 }, secret[FLEET_ID_LEN] = { 2 };
	struct fleet_message m = { .kind = MESSAGE_ANSWER, .answer.node = "n1" };
	auto_str struct str bytes = { 0 };
	struct gather g;

	gather_init(&g, &host, id, secret, "_INBOX.o.x");
	memcpy(m.answer.id, id, sizeof(id));
	message_encode(&m, &bytes);
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
		gather_message(&g, subjects[i], bytes.at, bytes.len);
	assert_int_equal(g.nodes.nr, 0);
	assert_int_equal(g.nr_strange, ARRAY_SIZE(subjects));
	gather_message(&g, "_INBOX.o.x.answer.n1", bytes.at, bytes.len);
	assert_int_equal(g.nodes.nr, 1);
	gather_fini(&g);
}

static void an_answer_with_the_label_of_another_node_is_none(void **state)
{
	static const char *const labels[] = { "node=n2", "zone=x,node=n2", "node=n11,zone=x",
					      "node=n" };
	const u8 id[FLEET_ID_LEN] = { 1 }, secret[FLEET_ID_LEN] = { 2 };
	struct fleet_message m = { .kind = MESSAGE_ANSWER, .answer.node = "n1" };
	struct gather g;

	gather_init(&g, &host, id, secret, "_INBOX.o.x");
	memcpy(m.answer.id, id, sizeof(id));
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		copy_text(m.answer.labels, sizeof(m.answer.labels), labels[i]);
		gather_take(&g, "_INBOX.o.x.answer.n1", &m);
	}
	assert_int_equal(g.nodes.nr, 0);
	assert_int_equal(g.nr_strange, ARRAY_SIZE(labels));
	copy_text(m.answer.labels, sizeof(m.answer.labels), "node=n1,zone=x");
	gather_take(&g, "_INBOX.o.x.answer.n1", &m);
	assert_int_equal(g.nodes.nr, 1);
	gather_fini(&g);
}

static void a_node_of_another_protocol_is_named_once(void **state)
{
	const u8 id[FLEET_ID_LEN] = { 1 }, secret[FLEET_ID_LEN] = { 2 };
	struct gather g;

	gather_init(&g, &host, id, secret, "_INBOX.o.x");
	gather_take_foreign(&g, "_INBOX.o.x.answer.n1");
	gather_take_foreign(&g, "_INBOX.o.x.answer.n1");
	gather_take_foreign(&g, "_INBOX.o.x.answer.n2");
	gather_take_foreign(&g, "_INBOX.o.x.answer.n.3");
	gather_take_foreign(&g, "_INBOX.o.y.answer.n4");
	gather_take_foreign(&g, "_INBOX.o.x.chunk.n5");
	gather_take_foreign(&g, "_INBOX.o.x.answer");
	auto_free char *text = census_foreign_text(&g);
	assert_string_equal(text, "2 nodes answered in another version of the protocol and cannot "
				  "take part: n1, n2; update sysflame there, or here");
	gather_fini(&g);
}

static void a_node_that_was_seen_and_is_silent_is_named_once(void **state)
{
	const u8 id[FLEET_ID_LEN] = { 1 }, secret[FLEET_ID_LEN] = { 2 };
	struct gather g;

	gather_init(&g, &host, id, secret, "_INBOX.o.x");
	gather_take_foreign(&g, "_INBOX.o.x.answer.n1");
	assert_null(census_silent_text(&g));
	gather_take_seen(&g, "n1");
	gather_take_seen(&g, "n2");
	gather_take_seen(&g, "n2");
	gather_take_seen(&g, "n 3");
	auto_free char *text = census_silent_text(&g);
	assert_string_equal(text, "1 node seen before did not answer: n2; estimates may lack them; "
				  "sysflame fleet ls lists them");
	gather_fini(&g);
}

static enum verdict verdict_with(const char *selector, enum verdict v)
{
	const u8 id[FLEET_ID_LEN] = { 1 }, secret[FLEET_ID_LEN] = { 2 };
	struct fleet_message m = {
		.kind = MESSAGE_ANSWER,
		.answer = { .node = "n1", .labels = "node=n1,zone=x", .verdict = v, .why = "w" }
	};
	struct gather g;

	gather_init(&g, &host, id, secret, "_INBOX.o.x");
	g.selector = selector;
	memcpy(m.answer.id, id, sizeof(id));
	gather_take(&g, "_INBOX.o.x.answer.n1", &m);
	enum verdict out = g.nodes.at[0]->verdict;
	gather_fini(&g);
	return out;
}

/* With a wrong clock, or without the key, a node refuses before it looks at its labels. */
static void a_node_that_refuses_matches_by_its_labels(void **state)
{
	assert_int_equal(verdict_with("zone=x", VERDICT_CLOCK), VERDICT_CLOCK);
	assert_int_equal(verdict_with("zone=y", VERDICT_CLOCK), VERDICT_NO_MATCH);
	assert_int_equal(verdict_with("zone!=x", VERDICT_DISABLED), VERDICT_NO_MATCH);
	assert_int_equal(verdict_with("service=a", VERDICT_CLOCK), VERDICT_CLOCK);
	assert_int_equal(verdict_with(NULL, VERDICT_CLOCK), VERDICT_CLOCK);
	assert_int_equal(verdict_with("zone=x", VERDICT_SIGNATURE), VERDICT_SIGNATURE);
	assert_int_equal(verdict_with("zone=y", VERDICT_SIGNATURE), VERDICT_NO_MATCH);
}

static void a_refusal_of_a_node_that_the_coin_leaves_out_is_none(void **state)
{
	const u8 id[FLEET_ID_LEN] = { 1 }, secret[FLEET_ID_LEN] = { 2 };
	u64 nr_chosen = 0;
	struct gather g;

	gather_init(&g, &host, id, secret, "_INBOX.o.x");
	g.selector = "";
	g.skips_others = true;
	g.sampling.to_rank = FLEET_PPB / 8;
	for (int i = 0; i < 101; i++) {
		struct fleet_message m = { .kind = MESSAGE_ANSWER,
					   .answer.verdict = VERDICT_SIGNATURE };
		auto_free char *subject = xasprintf("_INBOX.o.x.answer.n%d", i);
		memcpy(m.answer.id, id, sizeof(id));
		snprintf(m.answer.node, sizeof(m.answer.node), "n%d", i);
		nr_chosen += sampling_hash(g.sampling.seed, m.answer.node) < FLEET_PPB / 4;
		gather_take(&g, subject, &m);
	}
	assert_in_range(nr_chosen, 10, 40);
	assert_int_equal(g.nodes.nr, nr_chosen);
	gather_fini(&g);
}

static void a_second_end_adds_jvms_that_died_and_nothing_else(void **state)
{
	const u8 id[FLEET_ID_LEN] = { 1 }, secret[FLEET_ID_LEN] = { 2 };
	struct fleet_message answer = { .kind = MESSAGE_ANSWER, .answer.node = "n1" };
	struct fleet_message done = { .kind = MESSAGE_DONE,
				      .done = { .node = "n1", .size = 10, .samples = 7 } };
	struct gather g;

	gather_init(&g, &host, id, secret, "_INBOX.o.x");
	memcpy(answer.answer.id, id, sizeof(id));
	memcpy(done.done.id, id, sizeof(id));
	gather_take(&g, "_INBOX.o.x.answer.n1", &answer);
	gather_take(&g, "_INBOX.o.x.answer.n1", &done);
	done.done.nr_died = 3;
	done.done.samples = 99;
	gather_take(&g, "_INBOX.o.x.answer.n1", &done);
	done.done.nr_died = 1; /* one that was late */
	gather_take(&g, "_INBOX.o.x.answer.n1", &done);
	const struct gather_node *n = gather_find(&g, "n1");
	assert_int_equal(n->nr_died, 3);
	assert_int_equal(n->samples, 7);
	assert_int_equal(g.pulls.queue.nr, 1);
	assert_int_equal(gather_count(&g, GATHER_READY), 1);
	gather_fini(&g);
}

/* Seed and public key of the example in the documentation of NATS. */
static void a_seed_has_its_public_key(void **state)
{
	char text[NKEY_TEXT];

	assert_int_equal(
		nkey_public("SUAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBU", text), 0);
	assert_string_equal(text, "UCK5N7N66OBOINFXAYC2ACJQYFSOD4VYNU6APEJTAVFZB2SVHLKGEW7L");
}

/* The signature is OpenSSL's: pkeyutl -sign -rawin, with the key of that seed. */
static void a_seed_signs_like_its_key(void **state)
{
	static const char wanted[] =
		"752685a6a8ee910d5b2b5d225419f9ca5aab92bf95e2b19b1282452feddf119c"
		"7bb0ae90c59a97b8238d7f9d31f63999aa0caa8b23a16f9a0335cc6aea949d00";
	u8 signature[FLEET_SIGN_LEN];
	char text[sizeof(wanted)];

	assert_int_equal(nkey_sign("SUAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBU",
				   "nonce", 5, signature),
			 0);
	hex_print(signature, sizeof(signature), text);
	assert_string_equal(text, wanted);
	assert_int_equal(nkey_sign("SU", "nonce", 5, signature), -EINVAL);
}

static void a_damaged_seed_is_refused(void **state)
{
	static const char *const seeds[] = {
		"",
		"SU",
		"SUAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBV",
		"SAAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBU",
		"suamlk2znl35wsmw37e7ud4vz7elpkw7dhc3bwbsd2gcz7iuqqxziorrbu",
		"SUAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBUAAAAAAAAAAAAAA",
	};
	char text[NKEY_TEXT];

	for (size_t i = 0; i < ARRAY_SIZE(seeds); i++)
		assert_int_equal(nkey_public(seeds[i], text), -EINVAL);
}

static void keys_have_the_prefix_of_their_kind(void **state)
{
	static const char prefixes[NR_NKEY_KINDS] = { 'O', 'A', 'U' };

	for (int kind = 0; kind < NR_NKEY_KINDS; kind++) {
		char seed[NKEY_SEED_TEXT], public_key[NKEY_TEXT], again[NKEY_TEXT];
		assert_int_equal(nkey_new((enum nkey_kind)kind, seed, public_key), 0);
		assert_int_equal(seed[0], 'S');
		assert_int_equal(seed[1], prefixes[kind]);
		assert_int_equal(public_key[0], prefixes[kind]);
		assert_int_equal(nkey_public(seed, again), 0);
		assert_string_equal(again, public_key);
	}
}

/* A server checks the rest (tests/fleet/test_fleet_security). */
static void a_node_joins_by_a_secret_of_two_words(void **state)
{
	char signing[NKEY_SEED_TEXT], account[NKEY_TEXT], seed[NKEY_SEED_TEXT], own[NKEY_TEXT];
	auto_str struct str token = { 0 };

	assert_int_equal(nkey_new(NKEY_ACCOUNT, signing, account), 0);
	auto_free char *secret = xasprintf("%s %s", signing, account);
	assert_int_equal(jwt_join(secret, "n1", seed, &token), 0);
	assert_int_equal(nkey_public(seed, own), 0);
	assert_int_equal(own[0], 'U');
	/* {"typ":"JWT","alg":"ed25519-nkey"} */
	assert_memory_equal(token.at, "eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.eyJ", 50);
	const char *last = strrchr(token.at, '.');
	assert_int_equal(strlen(last + 1), 86);
	assert_int_equal(jwt_join(signing, "n1", seed, &token), -EINVAL);
	assert_int_equal(jwt_join("SA A", "n1", seed, &token), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_cannot_answer_for_another),
		cmocka_unit_test(an_answer_with_the_label_of_another_node_is_none),
		cmocka_unit_test(a_node_of_another_protocol_is_named_once),
		cmocka_unit_test(a_node_that_was_seen_and_is_silent_is_named_once),
		cmocka_unit_test(a_node_that_refuses_matches_by_its_labels),
		cmocka_unit_test(a_refusal_of_a_node_that_the_coin_leaves_out_is_none),
		cmocka_unit_test(a_second_end_adds_jvms_that_died_and_nothing_else),
		cmocka_unit_test(a_seed_has_its_public_key),
		cmocka_unit_test(a_seed_signs_like_its_key),
		cmocka_unit_test(a_damaged_seed_is_refused),
		cmocka_unit_test(keys_have_the_prefix_of_their_kind),
		cmocka_unit_test(a_node_joins_by_a_secret_of_two_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
