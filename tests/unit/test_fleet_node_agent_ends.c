/* SPDX-License-Identifier: Apache-2.0 */
/* A node of the fleet: how its recordings end, and the records it keeps of them. */
#include "test.h"

#include "fleet/node/asker.h"
#include "node_agent_world.h"

static void an_operator_stops_every_request(void **state)
{
	struct world *w = *state;

	run_one(w);
	w->request.id[0]++;
	send_stop(w, w->private_key, true); /* another one */
	assert_int_equal(w->nr_stopped, 0);
	assert_int_equal(w->nr_audited, 1);
	send_stop(w, w->private_key, false);
	send_stop(w, w->private_key, false);
	assert_int_equal(w->nr_stopped, 1);
	assert_int_equal(w->nr_audited, 2);
	assert_string_equal(w->audited, "fleet: stop \"\" of anna");
	assert_int_equal(w->sent.nr, 0);
	finish(w, "bytes", 5);
	assert_string_equal(w->gather.nodes.at[0]->why, "anna stopped it.");
	pull(w);
	assert_int_equal(w->nr_delivered, 1);
}

static void a_viewer_stops_own_requests_only(void **state)
{
	struct world *w = *state;

	run_one(w);
	send_stop(w, w->other_key, true);
	assert_int_equal(w->nr_stopped, 0);
	assert_non_null(strstr(w->audited, "POLICY: Requests of others take an operator."));
	w->request.want = WANT_SLICES;
	ask_by(w, w->other_key);
	node_agent_started(w->agent, w->number, VERDICT_ACCEPT, "");
	expect(w, VERDICT_ACCEPT);
	send_stop(w, w->other_key, false);
	assert_string_equal(w->audited, "fleet: stop \"\" of otto");
	assert_int_equal(w->nr_stopped, 0); /* slices are no recording */
	finish(w, "bytes", 5);
	assert_string_equal(w->gather.nodes.at[0]->why, "otto stopped it.");
}

static void a_stop_is_signed_and_counts_once(void **state)
{
	struct fleet_request r = { .want = WANT_STOP, .nonce = { 99 } };
	struct world *w = *state;

	run_one(w);
	u8 unknown[FLEET_KEY_LEN] = { 7 };
	send_signed(w, &r, unknown, "_INBOX.o.x.answer");
	assert_int_equal(w->nr_stopped, 0);
	send_signed(w, &r, w->private_key, "_INBOX.o.x.answer");
	assert_int_equal(w->nr_stopped, 1);
	node_agent_ended(w->agent, w->number,
			 &(struct node_agent_result){ .why = "", .bytes = "x", .len = 1 });
	forget(w);
	w->request.sent_ms = 0;
	run_one(w);
	send_signed(w, &r, w->private_key, "_INBOX.o.x.answer"); /* the same again */
	assert_int_equal(w->nr_stopped, 1);
}

static void a_silent_controller_ends_the_recording(void **state)
{
	struct world *w = *state;

	w->request.duration_s = 300;
	run_one(w);
	w->mono_ns += 59 * NS_PER_SEC;
	node_agent_tick(w->agent);
	send_alive(w, "");
	w->mono_ns += 59 * NS_PER_SEC;
	node_agent_tick(w->agent);
	assert_int_equal(w->nr_stopped, 0);
	w->mono_ns += 2 * NS_PER_SEC;
	node_agent_tick(w->agent);
	assert_int_equal(w->nr_stopped, 1);
}

static void a_node_that_suffers_ends_the_recording(void **state)
{
	struct world *w = *state;

	w->request.duration_s = 300;
	run_one(w);
	w->facts.pressure_pct = 61;
	node_agent_tick(w->agent);
	w->mono_ns += 29 * NS_PER_SEC;
	node_agent_tick(w->agent);
	w->facts.pressure_pct = 60; /* a moment's rest */
	node_agent_tick(w->agent);
	w->facts.pressure_pct = 61;
	w->mono_ns += 29 * NS_PER_SEC;
	node_agent_tick(w->agent);
	assert_int_equal(w->nr_stopped, 0);
	w->mono_ns += 2 * NS_PER_SEC;
	node_agent_tick(w->agent);
	assert_int_equal(w->nr_stopped, 1);
}

static void a_recorder_over_its_share_ends_the_recording(void **state)
{
	struct world *w = *state;

	w->request.duration_s = 300;
	run_one(w);
	w->facts.cpu_ppm = NODE_AGENT_CPU_PPM + 1;
	node_agent_tick(w->agent);
	w->mono_ns += (NODE_AGENT_STRAIN_S + 1) * NS_PER_SEC;
	node_agent_tick(w->agent);
	assert_int_equal(w->nr_stopped, 1);
	finish(w, "bytes", 5);
	assert_string_equal(w->gather.nodes.at[0]->why,
			    "The recorder used more than 5 % of a CPU.");
}

static void a_fifth_of_the_samples_lost_ends_the_recording(void **state)
{
	struct world *w = *state;

	run_one(w);
	w->lost = 2500; /* of 12,500: exactly 20 % */
	node_agent_tick(w->agent);
	assert_int_equal(w->nr_stopped, 0);
	w->lost = 2600;
	node_agent_tick(w->agent);
	assert_int_equal(w->nr_stopped, 1);
}

static void a_result_after_its_deadline_is_dropped(void **state)
{
	struct world *w = *state;

	run_one(w);
	for (u32 s = 0; s <= w->request.duration_s + NODE_AGENT_ENDING_S; s += 10) {
		w->mono_ns += 10 * NS_PER_SEC;
		send_alive(w, "");
		node_agent_tick(w->agent);
	}
	assert_true(w->nr_stopped > 0);
	finish(w, "bytes", 5);
	assert_int_equal(w->gather.nodes.at[0]->state, GATHER_FAILED);
	assert_string_equal(w->gather.nodes.at[0]->why, "The result took too long.");
}

static void a_refusal_is_on_the_audit_list_once_a_minute(void **state)
{
	struct world *w = *state;

	w->request.hz = 200;
	ask(w);
	assert_int_equal(w->nr_audited, 1);
	ask(w);
	ask(w);
	node_agent_tick(w->agent);
	assert_int_equal(w->nr_audited, 1);
	w->private_key[0] ^= 1;
	ask(w);
	assert_int_equal(w->nr_audited, 2);
	w->mono_ns += 61 * NS_PER_SEC;
	node_agent_tick(w->agent);
	assert_int_equal(w->nr_audited, 3);
	assert_string_equal(w->audited, "fleet: refused 2 more: POLICY: within a minute or more.");
	node_agent_tick(w->agent);
	assert_int_equal(w->nr_audited, 3);
}

/* Otto's 10,500 requests keep neither nonces nor places nor the list of anna, who comes next. */
static void a_key_that_asks_all_the_time_holds_nobody_up(void **state)
{
	struct world *w = *state;

	for (u32 i = 0; i < 10500; i++) {
		memcpy(w->request.nonce + 4, &i, sizeof(i));
		w->request.want = i % 2 ? WANT_CENSUS : WANT_SLICES;
		ask_by(w, w->other_key);
		if (w->nr_started > 2)
			break;
	}
	assert_int_equal(w->nr_started, 2);
	/* To those that it may ask, and what all strangers get. */
	assert_int_equal(w->sent.nr, ASKER_BURST - 2 + ASKER_BURST);
	assert_int_equal(w->nr_audited, 3); /* two starts, and BUSY */
	w->request.want = WANT_RECORDING;
	forget(w);
	ask(w);
	assert_int_equal(w->nr_started, 3);
	ask(w);
	expect(w, VERDICT_BUSY); /* all places are taken */
}

/* Whoever sees a request can send it again, but not use up what its signer may ask. */
static void replays_do_not_count_for_their_signer(void **state)
{
	struct world *w = *state;
	struct fleet_request r = { .want = WANT_SLICES,
				   .duration_s = 1,
				   .sampling.to_rank = UINT32_MAX };

	for (int i = 0; i < 1000; i++)
		send_signed(w, &r, w->private_key, "_INBOX.o.x.answer");
	assert_int_equal(w->nr_started, 1);
	assert_int_equal(w->nr_audited, 2); /* the start, and REPLAY */
	assert_int_equal(w->sent.nr, ASKER_BURST);
	forget(w);
	ask(w);
	assert_int_equal(w->nr_started, 2);
}

/* The number in the last DONE that was sent. */
static u32 last_died(struct world *w)
{
	struct fleet_message m;
	const struct str *bytes = &w->sent.at[w->sent.nr - 1].bytes;

	assert_int_equal(message_decode(bytes->at, bytes->len, &m), 0);
	assert_int_equal(m.kind, MESSAGE_DONE);
	u32 nr = m.done.nr_died;
	message_fini(&m);
	return nr;
}

static void a_jvm_that_ends_after_the_recording_is_reported_again(void **state)
{
	const struct node_agent_result r = { .why = "", .bytes = "bytes", .len = 5, .nr_died = 1 };
	struct world *w = *state;

	run_one(w);
	forget(w);
	node_agent_ended(w->agent, w->number, &r);
	assert_int_equal(last_died(w), 1);
	forget(w);
	node_agent_died(w->agent, w->number, 1);
	assert_int_equal(w->sent.nr, 0);
	node_agent_died(w->agent, w->number, 2);
	assert_int_equal(last_died(w), 2);
}

static void a_controller_that_waits_hears_of_the_end_again(void **state)
{
	struct world *w = *state;
	const struct node_agent_result r = { .why = "", .bytes = "bytes", .len = 5, .samples = 7 };

	run_one(w);
	send_alive(w, "");
	assert_int_equal(w->sent.nr, 0);
	node_agent_ended(w->agent, w->number, &r);
	forget(w); /* it is lost */
	send_alive(w, "");
	bring(w);
	forget(w);
	assert_int_equal(w->gather.nodes.at[0]->samples, 7);
	pull(w);
	assert_int_equal(w->nr_delivered, 1);
}

static void who_asks_for_a_request_that_is_unknown_gets_an_answer(void **state)
{
	struct world *w = *state;

	run_one(w);
	node_agent_free(w->agent);
	w->agent = node_agent_new("n1", "zone=a", &w->host);
	send_alive(w, ""); /* all nodes get this one */
	send_alive(w, "sysflame.v1.ctl");
	assert_int_equal(w->sent.nr, 0);
	send_alive(w, "_INBOX.o.x.answer");
	bring(w);
	assert_int_equal(w->gather.nodes.at[0]->state, GATHER_FAILED);
	assert_string_equal(w->gather.nodes.at[0]->why,
			    "It does not know the request: it has restarted.");
}

/* Both nodes have the subject of the first one's ALIVE. */
static void a_twin_does_not_end_the_request_of_a_node(void **state)
{
	struct world *w = *state;
	struct fleet_message m = { .kind = MESSAGE_ANSWER, .answer.node = "n1" };

	run_one(w);
	struct gather_node *n = w->gather.nodes.at[0];
	memcpy(m.answer.id, w->request.id, sizeof(m.answer.id));
	m.answer.instance = n->instance + 1;
	gather_take(&w->gather, "_INBOX.o.x.answer.n1", &m);
	m = (struct fleet_message){ .kind = MESSAGE_DONE, .done.verdict = VERDICT_FAILED };
	memcpy(m.done.id, w->request.id, sizeof(m.done.id));
	strcpy(m.done.node, "n1");
	m.done.instance = n->instance + 1;
	gather_take(&w->gather, "_INBOX.o.x.answer.n1", &m);
	assert_int_equal(n->state, GATHER_WORKS);
}

/* DONE was lost with a connection; and the reason of the end does not hide that of the failure. */
static void a_failure_is_repeated_with_its_reasons(void **state)
{
	const struct node_agent_result r = { .verdict = VERDICT_FAILED, .why = "No samples." };
	struct world *w = *state;

	run_one(w);
	send_stop(w, w->private_key, true);
	node_agent_ended(w->agent, w->number, &r);
	forget(w);
	send_alive(w, "_INBOX.o.x.answer");
	bring(w);
	assert_string_equal(w->gather.nodes.at[0]->why, "anna stopped it. No samples.");
}

static void a_long_reason_is_cut_between_characters(void **state)
{
	struct world *w = *state;
	char why[300];

	for (size_t len = 250; len < 256; len++) {
		struct node_agent_result r = { .verdict = VERDICT_FAILED, .why = why };
		memset(why, 'x', len);
		strcpy(why + len, "\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc"); /* four of two bytes */
		run_one(w);
		node_agent_ended(w->agent, w->number, &r);
		bring(w);
		forget(w);
		assert_int_equal(w->gather.nodes.at[0]->state, GATHER_FAILED);
	}
}

/* The controller weights by the recorded time, and shows the reason. */
static void a_result_that_is_not_whole_says_so(void **state)
{
	const struct node_agent_result r = {
		.why = "The recorder ended.", .bytes = "bytes", .len = 5, .covered_ms = 1700
	};
	struct world *w = *state;
	struct fleet_message m;

	run_one(w);
	forget(w);
	node_agent_ended(w->agent, w->number, &r);
	const struct str *bytes = &w->sent.at[w->sent.nr - 1].bytes;
	assert_int_equal(message_decode(bytes->at, bytes->len, &m), 0);
	assert_int_equal(m.done.verdict, VERDICT_ACCEPT);
	assert_int_equal(m.done.covered_ms, 1700);
	assert_string_equal(m.done.why, "The recorder ended.");
	message_fini(&m);
}

static void a_restart_does_not_refill_the_budget(void **state)
{
	struct world *w = *state;
	const u64 day_ns = 24 * 3600 * NS_PER_SEC, size_ns = day_ns / 1000 * 2;

	assert_true(budget_refilled(2, 0, day_ns / 4) == size_ns / 4);
	assert_true(budget_refilled(2, size_ns, day_ns) == size_ns);
	assert_true(budget_refilled(2, UINT64_MAX, 0) == size_ns);
	node_agent_set_budget(w->agent, 2, 5 * NS_PER_MS);
	assert_true(node_agent_budget_left(w->agent) == 5 * NS_PER_MS);
	ask(w);
	expect(w, VERDICT_BUDGET);
}

static u64 cost_of(struct world *w, u64 covered_ms, u64 cpu_ns)
{
	const struct node_agent_result r = {
		.why = "", .bytes = "x", .len = 1, .covered_ms = covered_ms
	};
	u64 before = node_agent_budget_left(w->agent);

	run_one(w);
	w->facts.cpu_ns += cpu_ns;
	node_agent_ended(w->agent, w->number, &r);
	forget(w);
	return before - node_agent_budget_left(w->agent);
}

static void a_recording_that_ended_early_costs_its_time(void **state)
{
	struct world *w = *state;

	node_agent_set_budget(w->agent, 2, UINT64_MAX);
	assert_int_equal(cost_of(w, 3700, 0), budget_estimate(2, 99, 4));
	assert_int_equal(cost_of(w, 3700, 300 * NS_PER_MS), 300 * NS_PER_MS);
	assert_int_equal(cost_of(w, 0, 0), budget_estimate(2, 99, 30));
	assert_int_equal(cost_of(w, 99000, 900 * NS_PER_MS), 900 * NS_PER_MS);
}

static void the_file_disable_ends_everything(void **state)
{
	struct world *w = *state;

	run_one(w);
	w->is_disabled = true;
	node_agent_tick(w->agent);
	assert_int_equal(w->nr_stopped, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_operator_stops_every_request),
		TEST(a_viewer_stops_own_requests_only),
		TEST(a_stop_is_signed_and_counts_once),
		TEST(a_silent_controller_ends_the_recording),
		TEST(a_node_that_suffers_ends_the_recording),
		TEST(a_recorder_over_its_share_ends_the_recording),
		TEST(a_fifth_of_the_samples_lost_ends_the_recording),
		TEST(a_result_after_its_deadline_is_dropped),
		TEST(a_refusal_is_on_the_audit_list_once_a_minute),
		TEST(a_key_that_asks_all_the_time_holds_nobody_up),
		TEST(replays_do_not_count_for_their_signer),
		TEST(a_jvm_that_ends_after_the_recording_is_reported_again),
		TEST(a_controller_that_waits_hears_of_the_end_again),
		TEST(who_asks_for_a_request_that_is_unknown_gets_an_answer),
		TEST(a_twin_does_not_end_the_request_of_a_node),
		TEST(a_failure_is_repeated_with_its_reasons),
		TEST(a_long_reason_is_cut_between_characters),
		TEST(a_result_that_is_not_whole_says_so),
		TEST(a_restart_does_not_refill_the_budget),
		TEST(a_recording_that_ended_early_costs_its_time),
		TEST(the_file_disable_ends_everything),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
