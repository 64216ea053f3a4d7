/* SPDX-License-Identifier: Apache-2.0 */
/* A node of the fleet from request to result, and the controller's gather, with a clock of ours. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "fleet/gather.h"
#include "fleet/member.h"

#define HOUR_MS 3600000ull

struct sent {
	char subject[128], reply[128];
	struct str bytes;
};

/* A daemon that does what the test says, and everything that was published. */
struct world {
	struct member *member;
	struct member_host host;
	struct gather gather;
	struct gather_host controller;
	u64 mono_ns, wall_ms;
	bool is_disabled, runs;
	struct member_facts facts;
	u32 number; /* of the last start */
	enum fleet_want want;
	u32 nr_started, nr_stopped, nr_audited, nr_delivered;
	VEC(struct sent) sent; /* by the node */
	VEC(struct sent) gets; /* by the controller */
	u8 private_key[FLEET_KEY_LEN];
	struct fleet_keys keys;
	struct fleet_request request;
	struct str delivered;
};

static u64 mono_ns(void *ctx)
{
	return ((struct world *)ctx)->mono_ns;
}

static u64 wall_ms(void *ctx)
{
	return ((struct world *)ctx)->wall_ms;
}

static bool is_disabled(void *ctx)
{
	return ((struct world *)ctx)->is_disabled;
}

static void look(void *ctx, struct member_facts *out)
{
	*out = ((struct world *)ctx)->facts;
}

static bool runs(void *ctx, const struct selector *s)
{
	return ((struct world *)ctx)->runs;
}

static void start(void *ctx, const struct member_work *w)
{
	struct world *world = ctx;

	world->number = w->number;
	world->want = w->request->want;
	world->nr_started++;
}

static void stop(void *ctx, u32 number)
{
	((struct world *)ctx)->nr_stopped++;
}

static bool progress(void *ctx, u32 number, u64 *samples, u64 *lost)
{
	*samples = 10000;
	*lost = 0;
	return true;
}

static void publish(void *ctx, const char *subject, const void *bytes, size_t len)
{
	struct world *w = ctx;
	struct sent s = { 0 };

	copy_text(s.subject, sizeof(s.subject), subject);
	str_add_bytes(&s.bytes, bytes, len);
	vec_push(&w->sent, s);
}

static void audit(void *ctx, const char *person, const char *what)
{
	((struct world *)ctx)->nr_audited++;
	assert_string_equal(person, "anna");
}

static void get(void *ctx, const char *subject, const char *reply, const void *bytes, size_t len)
{
	struct world *w = ctx;
	struct sent s = { 0 };

	copy_text(s.subject, sizeof(s.subject), subject);
	copy_text(s.reply, sizeof(s.reply), reply);
	str_add_bytes(&s.bytes, bytes, len);
	vec_push(&w->gets, s);
}

static int deliver(void *ctx, const struct gather_node *n)
{
	struct world *w = ctx;

	w->nr_delivered++;
	str_clear(&w->delivered);
	str_add_bytes(&w->delivered, n->bytes, n->size);
	return 0;
}

static void set_role(struct world *w, enum fleet_role role)
{
	struct fleet_key k = { .role = role, .person = "anna" };
	struct fleet_keys keys = { 0 };

	assert_int_equal(key_public(w->private_key, k.key), 0);
	vec_push(&keys.all, k);
	member_set_keys(w->member, &keys);
}

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	u8 public_key[FLEET_KEY_LEN];

	w->host = (struct member_host){ w,     mono_ns, wall_ms,  is_disabled, look, runs,
					start, stop,    progress, publish,     audit };
	w->controller = (struct gather_host){ w, get, deliver };
	w->mono_ns = 1000 * NS_PER_SEC;
	w->wall_ms = 1000 * HOUR_MS;
	w->runs = true;
	w->facts = (struct member_facts){ .has_recorder = true,
					  .nr_cpus = 2,
					  .caps = { 999, 3600 },
					  .services = { "checkout" },
					  .nr_services = 1,
					  .nr_all_services = 1 };
	w->member = member_new("n1", "zone=a", &w->host);
	assert_int_equal(key_new(w->private_key, public_key), 0);
	set_role(w, FLEET_OPERATOR);
	w->request = (struct fleet_request){ .want = WANT_RECORDING,
					     .events = "cpu",
					     .hz = 99,
					     .duration_s = 30,
					     .share_ppb = FLEET_PPB };
	*state = w;
	return 0;
}

static void forget(struct world *w)
{
	vec_each(s, &w->sent)
		str_fini(&s->bytes);
	vec_each(s, &w->gets)
		str_fini(&s->bytes);
	w->sent.nr = w->gets.nr = 0;
}

static int end(void **state)
{
	struct world *w = *state;

	forget(w);
	vec_fini(&w->sent);
	vec_fini(&w->gets);
	gather_fini(&w->gather);
	member_free(w->member);
	str_fini(&w->delivered);
	free(w);
	return 0;
}

/* Signs the request, with a new id and nonce, and sends it from a new gather. */
static void ask(struct world *w)
{
	static const u8 secret[FLEET_ID_LEN] = { 9 };
	struct fleet_message m = { .kind = MESSAGE_SIGNED };
	auto_str struct str bytes = { 0 };

	w->request.id[0]++;
	w->request.nonce[0]++;
	if (!w->request.sent_ms)
		w->request.sent_ms = w->wall_ms;
	digest(secret, sizeof(secret), w->request.pull_hash);
	assert_int_equal(request_encode(&w->request, &m.sealed), 0);
	assert_int_equal(key_sign(w->private_key, &m.sealed), 0);
	gather_fini(&w->gather);
	gather_init(&w->gather, &w->controller, w->request.id, secret, "_INBOX.x");
	message_encode(&m, &bytes);
	member_message(w->member, "_INBOX.x.answer", bytes.at, bytes.len);
}

/* Brings what the node has published to the controller. */
static void bring(struct world *w)
{
	for (size_t i = 0; i < w->sent.nr; i++)
		gather_message(&w->gather, w->sent.at[i].bytes.at, w->sent.at[i].bytes.len);
}

static void expect(struct world *w, enum verdict v)
{
	bring(w);
	assert_int_equal(w->gather.nodes.nr, 1);
	assert_int_equal(w->gather.nodes.at[0]->verdict, v);
	assert_int_equal(w->gather.nodes.at[0]->state, v ? GATHER_REFUSED : GATHER_WORKS);
	assert_true(!v == !*w->gather.nodes.at[0]->why);
	forget(w);
}

static void finish(struct world *w, const void *bytes, size_t len)
{
	const struct member_result r = { .why = "", .bytes = bytes, .len = len, .samples = 7 };

	member_ended(w->member, w->number, &r);
	bring(w);
	forget(w);
}

/* Asks for chunks until nothing more is asked for. */
static void pull(struct world *w)
{
	for (int i = 0; i < 100; i++) {
		gather_tick(&w->gather, w->mono_ns);
		if (!w->gets.nr)
			return;
		for (size_t k = 0; k < w->gets.nr; k++)
			member_message(w->member, w->gets.at[k].reply, w->gets.at[k].bytes.at,
				       w->gets.at[k].bytes.len);
		bring(w);
		forget(w);
	}
	fail();
}

static void a_recording_is_answered_and_handed_out_in_chunks(void **state)
{
	const size_t len = 3 * FLEET_CHUNK_MAX + 17;
	struct world *w = *state;
	auto_free u8 *bytes = malloc(len);

	for (size_t i = 0; i < len; i++)
		bytes[i] = (u8)(i * 31 >> 3);
	ask(w);
	assert_int_equal(w->nr_started, 1);
	assert_int_equal(w->nr_audited, 1);
	assert_int_equal(w->sent.nr, 0); /* the recorder may refuse */
	member_started(w->member, w->number, VERDICT_ACCEPT, "");
	assert_string_equal(w->sent.at[0].subject, "_INBOX.x.answer");
	expect(w, VERDICT_ACCEPT);
	finish(w, bytes, len);
	assert_int_equal(gather_count(&w->gather, GATHER_READY), 1);
	pull(w);
	assert_int_equal(gather_count(&w->gather, GATHER_DELIVERED), 1);
	assert_int_equal(w->nr_delivered, 1);
	assert_int_equal(w->gather.nr_chunks, 4);
	assert_int_equal(w->delivered.len, len);
	assert_memory_equal(w->delivered.at, bytes, len);
}

static void the_census_starts_nothing(void **state)
{
	struct world *w = *state;

	w->request.want = WANT_CENSUS;
	ask(w);
	assert_int_equal(w->nr_started, 0);
	expect(w, VERDICT_ACCEPT);
	assert_string_equal(w->gather.nodes.at[0]->labels, "node=n1,zone=a");
	assert_string_equal(w->gather.nodes.at[0]->services[0], "checkout");
}

static void every_refusal_has_its_verdict(void **state)
{
	struct world *w = *state;

	strcpy(w->request.selector, "zone=b");
	ask(w);
	expect(w, VERDICT_NO_MATCH);
	strcpy(w->request.selector, "zone!");
	ask(w);
	expect(w, VERDICT_POLICY);
	strcpy(w->request.selector, "");
	w->request.share_ppb = 0;
	ask(w);
	expect(w, VERDICT_NO_MATCH);
	w->request.share_ppb = FLEET_PPB;
	w->request.hz = 200;
	ask(w);
	expect(w, VERDICT_POLICY);
	w->request.hz = 99;
	w->is_disabled = true;
	ask(w);
	expect(w, VERDICT_DISABLED);
	w->is_disabled = false;
	w->facts.has_recorder = false;
	ask(w);
	expect(w, VERDICT_FAILED);
	w->facts.has_recorder = true;
	w->request.sent_ms = w->wall_ms - HOUR_MS;
	ask(w);
	expect(w, VERDICT_EXPIRED);
	w->request.sent_ms = w->wall_ms + HOUR_MS;
	ask(w);
	expect(w, VERDICT_CLOCK);
	set_role(w, FLEET_VIEWER);
	w->request.sent_ms = 0;
	ask(w);
	expect(w, VERDICT_POLICY);
	w->private_key[0] ^= 1;
	ask(w);
	expect(w, VERDICT_SIGNATURE);
	assert_int_equal(w->nr_started, 0);
}

static void a_request_counts_once(void **state)
{
	struct world *w = *state;

	w->request.want = WANT_CENSUS;
	ask(w);
	expect(w, VERDICT_ACCEPT);
	w->request.nonce[0]--;
	ask(w);
	expect(w, VERDICT_REPLAY);
}

static void two_requests_run_at_a_time(void **state)
{
	struct world *w = *state;

	ask(w);
	u32 first = w->number;
	ask(w);
	ask(w);
	assert_int_equal(w->nr_started, 2);
	expect(w, VERDICT_BUSY);
	const struct member_result r = { .verdict = VERDICT_FAILED, .why = "x" };
	member_started(w->member, first, VERDICT_ACCEPT, "");
	member_ended(w->member, first, &r);
	forget(w);
	ask(w);
	assert_int_equal(w->nr_started, 3);
}

static void the_days_budget_is_spent(void **state)
{
	struct world *w = *state;
	u32 nr = 0;

	/* 0.1 % of 2 CPUs are 172.8 s a day; 199 Hz for 300 s is taken for 4.976 s. */
	w->request.hz = 199;
	w->request.duration_s = 300;
	for (; nr < 100; nr++) {
		ask(w);
		if (w->sent.nr)
			break;
		member_started(w->member, w->number, VERDICT_POLICY, "x"); /* costs nothing */
		forget(w);
		ask(w);
		member_started(w->member, w->number, VERDICT_ACCEPT, "");
		finish(w, "bytes", 5);
	}
	assert_int_equal(nr, 34);
	expect(w, VERDICT_BUDGET);
	w->mono_ns += 24 * 3600 * NS_PER_SEC;
	ask(w);
	assert_int_equal(w->sent.nr, 0);
}

static void run_one(struct world *w)
{
	ask(w);
	member_started(w->member, w->number, VERDICT_ACCEPT, "");
	expect(w, VERDICT_ACCEPT);
}

static void send_control(struct world *w, enum message_kind kind, bool has_id)
{
	struct fleet_message m = { .kind = kind };
	auto_str struct str bytes = { 0 };

	m.control.has_id = has_id;
	memcpy(m.control.id, w->request.id, sizeof(m.control.id));
	message_encode(&m, &bytes);
	member_message(w->member, "", bytes.at, bytes.len);
}

static void anybody_may_stop(void **state)
{
	struct world *w = *state;

	run_one(w);
	w->request.id[0]++;
	send_control(w, MESSAGE_STOP, true); /* another one */
	assert_int_equal(w->nr_stopped, 0);
	send_control(w, MESSAGE_STOP, false);
	send_control(w, MESSAGE_STOP, false);
	assert_int_equal(w->nr_stopped, 1);
	finish(w, "bytes", 5);
	assert_string_equal(w->gather.nodes.at[0]->why, "It was stopped.");
	pull(w);
	assert_int_equal(w->nr_delivered, 1);
}

static void a_silent_controller_ends_the_recording(void **state)
{
	struct world *w = *state;

	w->request.duration_s = 300;
	run_one(w);
	w->mono_ns += 59 * NS_PER_SEC;
	member_tick(w->member);
	send_control(w, MESSAGE_ALIVE, true);
	w->mono_ns += 59 * NS_PER_SEC;
	member_tick(w->member);
	assert_int_equal(w->nr_stopped, 0);
	w->mono_ns += 2 * NS_PER_SEC;
	member_tick(w->member);
	assert_int_equal(w->nr_stopped, 1);
}

static void a_node_that_suffers_ends_the_recording(void **state)
{
	struct world *w = *state;

	w->request.duration_s = 300;
	run_one(w);
	w->facts.pressure_pct = 61;
	member_tick(w->member);
	w->mono_ns += 29 * NS_PER_SEC;
	member_tick(w->member);
	w->facts.pressure_pct = 60; /* a moment's rest */
	member_tick(w->member);
	w->facts.pressure_pct = 61;
	w->mono_ns += 29 * NS_PER_SEC;
	member_tick(w->member);
	assert_int_equal(w->nr_stopped, 0);
	w->mono_ns += 2 * NS_PER_SEC;
	member_tick(w->member);
	assert_int_equal(w->nr_stopped, 1);
}

static void the_file_disable_ends_everything(void **state)
{
	struct world *w = *state;

	run_one(w);
	w->is_disabled = true;
	member_tick(w->member);
	assert_int_equal(w->nr_stopped, 1);
}

static void results_end_after_ten_minutes(void **state)
{
	struct world *w = *state;

	run_one(w);
	finish(w, "bytes", 5);
	w->mono_ns += 601 * NS_PER_SEC;
	member_tick(w->member);
	pull(w);
	assert_int_equal(w->nr_delivered, 0);
	assert_int_equal(w->gather.nodes.at[0]->state, GATHER_FAILED);
}

static void a_result_that_is_too_large_fails(void **state)
{
	struct world *w = *state;
	auto_free u8 *bytes = calloc(1, FLEET_BLOB_MAX + 1);

	run_one(w);
	finish(w, bytes, FLEET_BLOB_MAX + 1);
	assert_int_equal(w->gather.nodes.at[0]->state, GATHER_FAILED);
	assert_non_null(strstr(w->gather.nodes.at[0]->why, "4 MiB"));
}

static void a_result_takes_its_secret(void **state)
{
	struct world *w = *state;

	run_one(w);
	finish(w, "bytes", 5);
	w->gather.secret[0] ^= 1;
	pull(w);
	assert_int_equal(w->nr_delivered, 0);
	assert_int_equal(w->gather.nodes.at[0]->state, GATHER_FAILED);
}

static void duplicates_and_damage_do_not_count(void **state)
{
	struct world *w = *state;

	run_one(w);
	const struct member_result r = { .why = "", .bytes = "bytes", .len = 5 };
	member_ended(w->member, w->number, &r);
	bring(w);
	bring(w);
	forget(w);
	gather_tick(&w->gather, w->mono_ns);
	assert_int_equal(w->gets.nr, 1);
	member_message(w->member, w->gets.at[0].reply, w->gets.at[0].bytes.at,
		       w->gets.at[0].bytes.len);
	w->gather.nodes.at[0]->sha256[0] ^= 1;
	bring(w);
	bring(w);
	assert_int_equal(w->nr_delivered, 0);
	assert_int_equal(gather_count(&w->gather, GATHER_FAILED), 1);
}

static void chunks_that_were_lost_are_asked_for_again(void **state)
{
	struct world *w = *state;

	run_one(w);
	finish(w, "bytes", 5);
	for (int i = 0; i < 5; i++) {
		gather_tick(&w->gather, w->mono_ns);
		assert_int_equal(w->gets.nr, i + 1);
		w->mono_ns += 3 * NS_PER_SEC;
	}
	assert_string_not_equal(w->gets.at[0].reply, w->gets.at[1].reply);
	gather_tick(&w->gather, w->mono_ns);
	assert_int_equal(gather_count(&w->gather, GATHER_FAILED), 1);
}

static void replies_go_to_inboxes_only(void **state)
{
	static const char *const subjects[] = { "", "sysflame.v1.ctl", "_INBOX.*", "_INBOX.a b",
						"_INBOX.>" };
	struct world *w = *state;
	struct fleet_message m = { .kind = MESSAGE_SIGNED };

	w->request.want = WANT_CENSUS;
	w->request.sent_ms = w->wall_ms;
	assert_int_equal(request_encode(&w->request, &m.sealed), 0);
	assert_int_equal(key_sign(w->private_key, &m.sealed), 0);
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
		auto_str struct str bytes = { 0 };
		message_encode(&m, &bytes);
		member_message(w->member, subjects[i], bytes.at, bytes.len);
	}
	assert_int_equal(w->sent.nr, 0);
}

static void a_second_node_of_the_name_is_counted(void **state)
{
	struct world *w = *state;
	struct fleet_message m = { .kind = MESSAGE_ANSWER, .answer.node = "n1" };
	auto_str struct str bytes = { 0 };

	run_one(w);
	memcpy(m.answer.id, w->request.id, sizeof(m.answer.id));
	m.answer.instance = w->gather.nodes.at[0]->instance + 1;
	message_encode(&m, &bytes);
	gather_message(&w->gather, bytes.at, bytes.len);
	assert_int_equal(w->gather.nr_twins, 1);
	assert_int_equal(w->gather.nodes.nr, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_recording_is_answered_and_handed_out_in_chunks),
		TEST(the_census_starts_nothing),
		TEST(every_refusal_has_its_verdict),
		TEST(a_request_counts_once),
		TEST(two_requests_run_at_a_time),
		TEST(the_days_budget_is_spent),
		TEST(anybody_may_stop),
		TEST(a_silent_controller_ends_the_recording),
		TEST(a_node_that_suffers_ends_the_recording),
		TEST(the_file_disable_ends_everything),
		TEST(results_end_after_ten_minutes),
		TEST(a_result_that_is_too_large_fails),
		TEST(a_result_takes_its_secret),
		TEST(duplicates_and_damage_do_not_count),
		TEST(chunks_that_were_lost_are_asked_for_again),
		TEST(replies_go_to_inboxes_only),
		TEST(a_second_node_of_the_name_is_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
