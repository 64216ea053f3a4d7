/* SPDX-License-Identifier: Apache-2.0 */
/* A node of the fleet: requests, verdicts, results. */
#include "test.h"

#include "node_agent_world.h"

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
	node_agent_started(w->agent, w->number, VERDICT_ACCEPT, "");
	assert_string_equal(w->sent.at[0].subject, "_INBOX.o.x.answer.n1");
	expect(w, VERDICT_ACCEPT);
	finish(w, bytes, len);
	assert_int_equal(gather_count(&w->gather, GATHER_READY), 1);
	pull(w);
	assert_int_equal(gather_count(&w->gather, GATHER_DELIVERED), 1);
	assert_int_equal(w->nr_delivered, 1);
	assert_int_equal(w->gather.pulls.nr_chunks, 4);
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
	assert_string_equal(w->gather.nodes.at[0]->services, "checkout");
}

static u64 now_busy_ppm;

static u64 busy_now(void *ctx, const struct selector *s)
{
	return now_busy_ppm;
}

/* The controller computes chances and weights from the answer to the census. */
static void a_size_is_kept_from_the_census_to_the_request(void **state)
{
	struct world *w = *state;

	w->host.busy_ppm = busy_now;
	w->request.want = WANT_CENSUS;
	memset(w->request.sampling.seed, 5, FLEET_ID_LEN);
	now_busy_ppm = 2000000;
	ask(w);
	expect(w, VERDICT_ACCEPT);
	assert_int_equal(w->gather.nodes.at[0]->busy_ppm, 2000000);
	now_busy_ppm = 500000;
	ask(w);
	expect(w, VERDICT_ACCEPT);
	assert_int_equal(w->gather.nodes.at[0]->busy_ppm, 2000000);
	memset(w->request.sampling.seed, 6, FLEET_ID_LEN);
	ask(w);
	expect(w, VERDICT_ACCEPT);
	assert_int_equal(w->gather.nodes.at[0]->busy_ppm, 500000);
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
	w->request.sampling.to_rank = 0;
	ask(w);
	expect(w, VERDICT_NO_MATCH);
	w->request.sampling.to_rank = UINT32_MAX;
	w->request.hz = 200;
	ask(w);
	expect(w, VERDICT_POLICY);
	w->request.hz = 99;
	w->is_disabled = true;
	ask(w);
	expect(w, VERDICT_DISABLED);
	w->is_disabled = false;
	struct policy_caps known = w->facts.caps;
	w->facts.has_recorder = false;
	w->facts.caps = (struct policy_caps){ 0 }; /* it has not started yet */
	ask(w);
	expect(w, VERDICT_FAILED);
	w->facts.has_recorder = true;
	w->facts.caps = known;
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

/* The node served it, and does not know its nonce any more. */
static void a_request_from_before_the_start_is_refused(void **state)
{
	struct world *w = *state;

	w->request.want = WANT_CENSUS;
	ask(w);
	expect(w, VERDICT_ACCEPT);
	node_agent_free(w->agent);
	w->mono_ns += 5 * NS_PER_SEC;
	w->wall_ms += 5000;
	w->agent = node_agent_new("n1", "zone=a", &w->host);
	set_role(w, FLEET_OPERATOR);
	w->mono_ns += 2 * NS_PER_SEC;
	w->wall_ms += 2000;
	w->request.nonce[0]--;
	ask(w);
	expect(w, VERDICT_EXPIRED);
	w->request.sent_ms += 5000;
	ask(w);
	expect(w, VERDICT_ACCEPT);
	w->wall_ms -= HOUR_MS; /* the node's clock is set right */
	w->request.sent_ms = w->wall_ms - 1000;
	ask(w);
	expect(w, VERDICT_ACCEPT);
}

static void two_requests_run_at_a_time_and_one_more_of_an_operator(void **state)
{
	struct world *w = *state;

	w->request.want = WANT_SLICES;
	ask_by(w, w->other_key);
	u32 first = w->number;
	ask_by(w, w->other_key);
	ask_by(w, w->other_key);
	assert_int_equal(w->nr_started, 2);
	expect(w, VERDICT_BUSY);
	ask(w);
	assert_int_equal(w->nr_started, 3);
	ask(w);
	expect(w, VERDICT_BUSY);
	const struct node_agent_result r = { .verdict = VERDICT_FAILED, .why = "x" };
	node_agent_started(w->agent, first, VERDICT_ACCEPT, "");
	node_agent_ended(w->agent, first, &r);
	forget(w);
	ask(w);
	assert_int_equal(w->nr_started, 4);
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
		w->mono_ns += 2 * NS_PER_SEC;
		node_agent_started(w->agent, w->number, VERDICT_POLICY, "x"); /* costs nothing */
		forget(w);
		ask(w);
		node_agent_started(w->agent, w->number, VERDICT_ACCEPT, "");
		finish(w, "bytes", 5);
	}
	assert_int_equal(nr, 34);
	expect(w, VERDICT_BUDGET);
	w->mono_ns += 24 * 3600 * NS_PER_SEC;
	ask(w);
	assert_int_equal(w->sent.nr, 0);
}

static void results_end_after_ten_minutes(void **state)
{
	struct world *w = *state;

	run_one(w);
	finish(w, "bytes", 5);
	w->mono_ns += 601 * NS_PER_SEC;
	node_agent_tick(w->agent);
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
	w->gather.pulls.secret[0] ^= 1;
	pull(w);
	assert_int_equal(w->nr_delivered, 0);
	assert_int_equal(w->gather.nodes.at[0]->state, GATHER_FAILED);
}

static void duplicates_and_damage_do_not_count(void **state)
{
	struct world *w = *state;

	run_one(w);
	const struct node_agent_result r = { .why = "", .bytes = "bytes", .len = 5 };
	node_agent_ended(w->agent, w->number, &r);
	bring(w);
	bring(w);
	forget(w);
	gather_tick(&w->gather, w->mono_ns);
	assert_int_equal(w->gets.nr, 1);
	node_agent_message(w->agent, w->gets.at[0].reply, w->gets.at[0].bytes.at,
			   w->gets.at[0].bytes.len);
	w->gather.nodes.at[0]->pull.sha256[0] ^= 1;
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
	assert_int_equal(key_sign(w->private_key, KEY_FOR_REQUEST, &m.sealed), 0);
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
		auto_str struct str bytes = { 0 };
		message_encode(&m, &bytes);
		node_agent_message(w->agent, subjects[i], bytes.at, bytes.len);
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
	gather_message(&w->gather, "_INBOX.o.x.answer.n1", bytes.at, bytes.len);
	assert_int_equal(w->gather.nr_twins, 1);
	assert_int_equal(w->gather.nodes.nr, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_recording_is_answered_and_handed_out_in_chunks),
		TEST(the_census_starts_nothing),
		TEST(every_refusal_has_its_verdict),
		TEST(a_size_is_kept_from_the_census_to_the_request),
		TEST(a_request_counts_once),
		TEST(a_request_from_before_the_start_is_refused),
		TEST(two_requests_run_at_a_time_and_one_more_of_an_operator),
		TEST(the_days_budget_is_spent),
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
