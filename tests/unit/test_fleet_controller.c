/* SPDX-License-Identifier: Apache-2.0 */
/* What the controller makes of the answers of nodes. */
#include "test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "fleet/controller/controller.h"
#include "fleet/controller/coverage.h"
#include "fleet/controller/gather.h"
#include "fleet/wire/key.h"
#include "fleet/wire/selector.h"

#define INBOX "_INBOX.o.x"

/* A controller whose time the test sets, and the messages that it has published. */
struct world {
	struct controller_host host;
	struct controller_order order;
	struct controller *c;
	u64 now_ns;
	u8 private_key[FLEET_KEY_LEN];
	u8 id[FLEET_ID_LEN];          /* of the last request */
	struct fleet_request request; /* the last one */
	u32 nr_stops, nr_alives;
	char stopped[128], kept[128]; /* subjects of the last STOP and ALIVE */
};

static u64 mono_ns(void *ctx)
{
	return ((struct world *)ctx)->now_ns;
}

static u64 wall_ms(void *ctx)
{
	return 1000000;
}

static void report(void *ctx, const char *text)
{
}

static void publish(void *ctx, const char *subject, const char *reply, const void *bytes,
		    size_t len)
{
	struct world *w = ctx;
	struct fleet_message m;
	struct fleet_request r;

	assert_int_equal(message_decode(bytes, len, &m), 0);
	if (m.kind == MESSAGE_SIGNED) {
		assert_int_equal(request_decode(m.sealed.request, m.sealed.len, &r), 0);
	}
	if (m.kind == MESSAGE_SIGNED && r.want == WANT_STOP) {
		assert_memory_equal(r.target, w->id, FLEET_ID_LEN);
		w->nr_stops++;
		copy_text(w->stopped, sizeof(w->stopped), subject);
	} else if (m.kind == MESSAGE_SIGNED) {
		memcpy(w->id, r.id, FLEET_ID_LEN);
		w->request = r;
	}
	if (m.kind == MESSAGE_ALIVE) {
		w->nr_alives++;
		copy_text(w->kept, sizeof(w->kept), subject);
	}
	message_fini(&m);
}

static void begin(struct world *w, enum fleet_want want, const char *selector)
{
	u8 public_key[FLEET_KEY_LEN];

	*w = (struct world){
		.now_ns = NS_PER_SEC,
		.order = { .want = want, .hz = 99, .duration_s = 30, .answers_ms = 1000 }
	};
	strcpy(w->order.selector, selector);
	assert_int_equal(key_new(w->private_key, public_key), 0);
	w->host = (struct controller_host){ .ctx = w,
					    .mono_ns = mono_ns,
					    .wall_ms = wall_ms,
					    .publish = publish,
					    .report = report,
					    .private_key = w->private_key,
					    .inbox = INBOX };
	assert_int_equal(controller_start(&w->order, &w->host, &w->c), 0);
}

static void end(struct world *w)
{
	controller_free(w->c);
}

static void bring(struct world *w, const char *node, const struct fleet_message *m)
{
	auto_free char *subject = xasprintf(INBOX ".answer.%s", node);
	auto_str struct str bytes = { 0 };

	message_encode(m, &bytes);
	controller_message(w->c, subject, bytes.at, bytes.len);
}

/* A node of that zone answers the last request. */
static void answer(struct world *w, const char *node, const char *zone, enum verdict v)
{
	struct fleet_message m = { .kind = MESSAGE_ANSWER, .answer.verdict = v };

	memcpy(m.answer.id, w->id, sizeof(m.answer.id));
	copy_text(m.answer.node, sizeof(m.answer.node), node);
	snprintf(m.answer.labels, sizeof(m.answer.labels), "node=%s,zone=%s", node, zone);
	copy_text(m.answer.why, sizeof(m.answer.why),
		  v == VERDICT_SIGNATURE ? "This node does not know the key." : "");
	bring(w, node, &m);
}

#define STEP_NS (100 * NS_PER_MS)

static struct controller_state step(struct world *w, u64 after_ns)
{
	controller_step(w->c); /* it has heard them */
	for (u64 part_ns; after_ns; after_ns -= part_ns) {
		part_ns = after_ns < STEP_NS ? after_ns : STEP_NS;
		w->now_ns += part_ns;
		controller_step(w->c);
	}
	return controller_view(w->c);
}

static void a_node_that_refuses_the_key_does_not_fail_the_others(void **state)
{
	struct world w;

	begin(&w, WANT_SLICES, "");
	answer(&w, "n1", "x", VERDICT_SIGNATURE);
	answer(&w, "n2", "x", VERDICT_ACCEPT);
	struct controller_state s = step(&w, NS_PER_SEC);
	assert_null(s.error);
	assert_int_equal(s.phase, CONTROLLER_RECORDS);
	assert_int_equal(s.nr_matched, 2);
	answer(&w, "n1", "x", VERDICT_SIGNATURE);
	answer(&w, "n2", "x", VERDICT_ACCEPT);
	s = step(&w, NS_PER_MS);
	assert_int_equal(gather_count(s.nodes, GATHER_WORKS), 1);
	const struct gather_node *n = gather_find(s.nodes, "n1");
	assert_int_equal(n->verdict, VERDICT_SIGNATURE);
	assert_string_equal(n->why, "This node does not know the key.");
	end(&w);
}

static void a_node_that_refuses_the_key_can_be_left_out_by_its_labels(void **state)
{
	struct world w;

	begin(&w, WANT_SLICES, "zone!=y");
	answer(&w, "n1", "y", VERDICT_SIGNATURE);
	answer(&w, "n2", "x", VERDICT_ACCEPT);
	struct controller_state s = step(&w, NS_PER_SEC);
	assert_null(s.error);
	assert_int_equal(s.nr_matched, 1);
	assert_int_equal(s.nr_chosen, 1);
	answer(&w, "n1", "y", VERDICT_SIGNATURE);
	s = step(&w, NS_PER_MS);
	assert_null(gather_find(s.nodes, "n1"));
	end(&w);
}

static void a_key_that_no_node_knows_fails_the_request(void **state)
{
	struct world w;

	begin(&w, WANT_CENSUS, "zone=x");
	answer(&w, "n1", "y", VERDICT_NO_MATCH);
	answer(&w, "n2", "x", VERDICT_SIGNATURE);
	answer(&w, "n3", "x", VERDICT_SIGNATURE);
	struct controller_state s = step(&w, NS_PER_SEC);
	assert_int_equal(s.phase, CONTROLLER_ENDED);
	assert_string_equal(s.error, "n2: This node does not know the key.");
	end(&w);
}

/* It is in no number that estimates are based on. */
static void a_node_that_the_census_lacks_is_stopped_and_does_not_count(void **state)
{
	struct world w;

	begin(&w, WANT_RECORDING, "zone=x");
	answer(&w, "n1", "x", VERDICT_ACCEPT);
	answer(&w, "n2", "x", VERDICT_NO_MATCH);
	step(&w, NS_PER_SEC);
	answer(&w, "n1", "x", VERDICT_ACCEPT);
	answer(&w, "n2", "x", VERDICT_BUDGET); /* its service has started */
	assert_int_equal(w.nr_stops, 0);
	answer(&w, "n3", "x", VERDICT_ACCEPT);
	answer(&w, "n4", "y", VERDICT_NO_MATCH);
	struct controller_state s = step(&w, NS_PER_MS);
	assert_int_equal(s.nodes->nodes.nr, 1);
	assert_int_equal(s.nodes->late.nr, 2);
	assert_int_equal(w.nr_stops, 1);
	assert_string_equal(w.stopped, "sysflame.v1.node.n3.get");
	auto_free char *text = census_late_text(s.nodes);
	assert_non_null(strstr(text, "2 nodes came too late for the census and took no part: n2, "
				     "n3; "));
	end(&w);
}

/* However long that takes. */
static void the_census_goes_on_while_answers_arrive(void **state)
{
	struct world w;

	begin(&w, WANT_SLICES, "");
	for (u32 i = 0; i < 10; i++) {
		auto_free char *name = xasprintf("n%u", i);
		answer(&w, name, "x", VERDICT_ACCEPT);
		assert_int_equal(step(&w, 900 * NS_PER_MS).phase, CONTROLLER_CENSUS);
		answer(&w, name, "x", VERDICT_ACCEPT); /* once more: nothing new */
	}
	struct controller_state s = step(&w, 100 * NS_PER_MS);
	assert_int_equal(s.phase, CONTROLLER_RECORDS);
	assert_int_equal(s.nr_matched, 10);
	end(&w);
}

static void the_census_ends_soon_after_the_last_node_that_was_seen_before(void **state)
{
	struct world w;

	begin(&w, WANT_SLICES, "");
	controller_take_seen(w.c, "n1");
	controller_take_seen(w.c, "n2");
	answer(&w, "n1", "x", VERDICT_ACCEPT);
	answer(&w, "n3", "x", VERDICT_ACCEPT);
	assert_int_equal(step(&w, 600 * NS_PER_MS).phase, CONTROLLER_CENSUS);
	answer(&w, "n2", "y", VERDICT_NO_MATCH);
	struct controller_state s = step(&w, 600 * NS_PER_MS);
	assert_int_equal(s.phase, CONTROLLER_RECORDS);
	auto_free char *silent = census_silent_text(s.census), *names = census_names(s.nodes);
	assert_null(silent);
	assert_string_equal(names, "n1\nn3\nn2\n");
	end(&w);
}

/* Of thousands of nodes beside other programs. --wait says how long the last one may take. */
static void the_first_answer_may_take_longer_than_the_last(void **state)
{
	struct controller_state s;
	struct world w;

	begin(&w, WANT_SLICES, "");
	assert_int_equal(step(&w, 9 * NS_PER_SEC).phase, CONTROLLER_CENSUS);
	answer(&w, "n1", "x", VERDICT_ACCEPT);
	assert_int_equal(step(&w, 900 * NS_PER_MS).phase, CONTROLLER_CENSUS);
	assert_int_equal(step(&w, 100 * NS_PER_MS).phase, CONTROLLER_RECORDS);
	s = step(&w, 9 * NS_PER_SEC);
	assert_int_equal(s.phase, CONTROLLER_RECORDS);
	answer(&w, "n1", "x", VERDICT_ACCEPT);
	s = step(&w, NS_PER_SEC);
	assert_int_equal(gather_count(s.nodes, GATHER_WORKS), 1);
	end(&w);
	begin(&w, WANT_SLICES, "");
	s = step(&w, 10 * NS_PER_SEC);
	assert_string_equal(s.error, "no node answered");
	end(&w);
}

/* Its own messages wait for it then. */
static void time_in_which_the_controller_does_not_run_is_no_silence(void **state)
{
	struct world w;

	begin(&w, WANT_SLICES, "");
	answer(&w, "n1", "x", VERDICT_ACCEPT);
	step(&w, NS_PER_MS);
	w.now_ns += 60 * NS_PER_SEC;
	controller_step(w.c);
	assert_int_equal(controller_view(w.c).phase, CONTROLLER_CENSUS);
	answer(&w, "n2", "x", VERDICT_ACCEPT);
	assert_int_equal(step(&w, NS_PER_SEC).nr_matched, 2);
	end(&w);
}

/* NATS delivers in order: answers to the request arrive after those to the census. */
static void late_answers_to_the_census_keep_the_request_waiting(void **state)
{
	u8 census[FLEET_ID_LEN], id[FLEET_ID_LEN];
	struct world w;

	begin(&w, WANT_SLICES, "");
	memcpy(census, w.id, sizeof(census));
	answer(&w, "n1", "x", VERDICT_ACCEPT);
	step(&w, NS_PER_SEC);
	memcpy(id, w.id, sizeof(id));
	memcpy(w.id, census, sizeof(census));
	for (u32 i = 2; i < 10; i++) {
		auto_free char *name = xasprintf("n%u", i);
		assert_int_equal(step(&w, 900 * NS_PER_MS).phase, CONTROLLER_RECORDS);
		answer(&w, name, "x", VERDICT_ACCEPT);
	}
	memcpy(w.id, id, sizeof(id));
	answer(&w, "n1", "x", VERDICT_ACCEPT);
	struct controller_state s = step(&w, NS_PER_MS);
	assert_int_equal(gather_count(s.nodes, GATHER_WORKS), 1);
	assert_int_equal(s.nodes->late.nr, 8);
	end(&w);
}

static void an_answer_after_the_census_is_named(void **state)
{
	u8 census[FLEET_ID_LEN];
	struct world w;

	begin(&w, WANT_SLICES, "zone=x");
	memcpy(census, w.id, sizeof(census));
	answer(&w, "n1", "x", VERDICT_ACCEPT);
	step(&w, NS_PER_SEC);
	memcpy(w.id, census, sizeof(census));
	answer(&w, "n1", "x", VERDICT_ACCEPT);
	answer(&w, "n2", "x", VERDICT_ACCEPT);
	answer(&w, "n3", "y", VERDICT_NO_MATCH);
	const struct controller_state s = controller_view(w.c);
	auto_free char *late = census_late_text(s.nodes), *names = census_names(s.nodes);
	assert_string_equal(late, "1 node came too late for the census and took no part: n2; "
				  "estimates lack them; the next request counts them");
	assert_string_equal(names, "n1\nn2\n");
	auto_free char *silent = census_unanswered_text(s.nodes);
	assert_string_equal(silent, "1 node did not answer the request in time: n1; "
				    "--wait waits longer");
	end(&w);
}

/* A node has finished: its result can be fetched. */
static void done(struct world *w, const char *node)
{
	struct fleet_message m = { .kind = MESSAGE_DONE, .done.size = 10 };

	memcpy(m.done.id, w->id, sizeof(m.done.id));
	copy_text(m.done.node, sizeof(m.done.node), node);
	bring(w, node, &m);
}

/* Two of two nodes record. */
static void record(struct world *w)
{
	begin(w, WANT_RECORDING, "");
	for (int round = 0; round < 2; round++) {
		answer(w, "n1", "x", VERDICT_ACCEPT);
		answer(w, "n2", "x", VERDICT_ACCEPT);
		step(w, NS_PER_SEC);
	}
}

/* Its DONE was lost with a connection. */
static void a_node_that_is_overdue_is_asked_again(void **state)
{
	struct world w;

	record(&w);
	for (int s = 0; s < 28; s++)
		step(&w, NS_PER_SEC);
	assert_int_equal(w.nr_alives, 1);
	assert_string_equal(w.kept, "sysflame.v1.ctl");
	done(&w, "n1");
	for (int s = 0; s < 10; s++)
		step(&w, NS_PER_SEC);
	assert_in_range(w.nr_alives, 2, 4);
	assert_string_equal(w.kept, "sysflame.v1.node.n2.get");
	done(&w, "n2");
	assert_int_equal(step(&w, NS_PER_MS).phase, CONTROLLER_FETCHES);
	end(&w);
}

/* n1 does not answer any more, and n2 does not hand out its result. */
static void who_stops_again_does_not_wait_for_the_missing(void **state)
{
	struct world w;

	record(&w);
	controller_stop(w.c);
	assert_int_equal(w.nr_stops, 1);
	done(&w, "n2");
	assert_int_equal(step(&w, NS_PER_SEC).phase, CONTROLLER_RECORDS);
	controller_stop(w.c);
	assert_int_equal(step(&w, NS_PER_SEC).phase, CONTROLLER_FETCHES);
	controller_stop(w.c);
	struct controller_state s = step(&w, NS_PER_MS);
	assert_true(s.phase > CONTROLLER_FETCHES);
	assert_int_equal(gather_count(s.nodes, GATHER_FAILED), 2);
	assert_string_equal(gather_find(s.nodes, "n2")->why, "Its result did not arrive in time.");
	end(&w);
}

/* A recording of all of `nr` nodes in waves; the first one has begun. */
static void record_in_waves(struct world *w, u32 nr)
{
	begin(w, WANT_RECORDING, "");
	end(w);
	w->order.has_waves = w->order.is_confirmed = true;
	assert_int_equal(controller_start(&w->order, &w->host, &w->c), 0);
	for (u32 i = 0; i < nr; i++) {
		auto_free char *name = xasprintf("n%u", i);
		answer(w, name, "x", VERDICT_ACCEPT);
	}
	step(w, NS_PER_SEC);
}

/* The nodes of the wave record; the first ones fail, or one of their JVMs crashes. */
static struct controller_state wave(struct world *w, u32 nr_fail, u32 nr_died)
{
	u32 nr = 0;

	for (u32 i = 0; i < 1000; i++) {
		struct fleet_message m = { .kind = MESSAGE_DONE };
		snprintf(m.done.node, sizeof(m.done.node), "n%u", i);
		if (!sampling_takes(&w->request.sampling, m.done.node, 0))
			continue;
		answer(w, m.done.node, "x", VERDICT_ACCEPT);
		memcpy(m.done.id, w->id, sizeof(m.done.id));
		m.done.verdict = nr++ < nr_fail ? VERDICT_FAILED : VERDICT_ACCEPT;
		m.done.size = m.done.verdict ? 0 : 10;
		m.done.nr_died = nr_died;
		nr_died = 0;
		bring(w, m.done.node, &m);
	}
	step(w, NS_PER_MS);
	return step(w, NS_PER_MS);
}

static void one_failure_of_the_first_node_is_no_evidence(void **state)
{
	struct controller_state s;
	struct world w;

	record_in_waves(&w, 20);
	s = wave(&w, 1, 0);
	assert_null(s.stopped);
	assert_int_equal(s.nr_waves, 3);
	s = wave(&w, 0, 0); /* the second node */
	assert_int_equal(s.nodes->nodes.nr, 2);
	assert_null(s.stopped);
	s = wave(&w, 0, 0);
	assert_int_equal(s.nodes->nodes.nr, 20);
	assert_int_equal(s.nr_chosen, 20);
	end(&w);
	record_in_waves(&w, 20);
	wave(&w, 1, 0);
	s = wave(&w, 1, 0);
	assert_string_equal(s.stopped, "2 of 2 nodes failed: no further wave was started");
	assert_int_equal(s.nr_chosen, 2);
	end(&w);
}

/* At 2 % for each node: 2 or more of 11 by 2.0 %, 3 or more by 0.1 %. */
static void improbable_failures_end_the_recording(void **state)
{
	struct world w;

	for (u32 failed = 2; failed <= 3; failed++) {
		record_in_waves(&w, 1000);
		wave(&w, 0, 0);
		struct controller_state s = wave(&w, failed, 0);
		assert_int_equal(s.nodes->nodes.nr, 11);
		assert_int_equal(!!s.stopped, failed == 3);
		end(&w);
	}
}

static void a_jvm_that_crashed_ends_the_recording(void **state)
{
	struct world w;

	record_in_waves(&w, 20);
	struct controller_state s = wave(&w, 0, 1);
	assert_string_equal(s.stopped, "1 sampled JVM crashed: no further wave was started");
	end(&w);
}

static struct gather_node node_of(const char *name, u64 samples, u64 lost)
{
	struct gather_node n = { .state = GATHER_DELIVERED, .samples = samples, .lost = lost };

	copy_text(n.name, sizeof(n.name), name);
	n.why = n.labels = n.version = (char *)"";
	return n;
}

static void the_coverage_counts_nodes_that_lost_samples(void **state)
{
	struct gather_node some[] = { node_of("quiet", 1000, 0), node_of("busy", 1000, 10),
				      node_of("traced", 700, 300), node_of("torn", 90, 10) };
	struct gather_node *all[] = { &some[0], &some[1], &some[2], &some[3] };
	struct gather census = { .asked_ms = 0 };
	struct gather nodes = { .nodes = { .at = all, .nr = ARRAY_SIZE(all) }, .census = &census };
	const struct controller_state s = { .census = &census, .nodes = &nodes };
	static const char sentence[] = "nodes lost more than 1 % of their samples; most, 30.0 %, "
				       "of traced, whose own profile has the reasons";
	char bytes[4096];
	struct spool spool;

	assert_int_equal(spool_open(&spool), 0);
	assert_int_equal(coverage_add(&spool, &s, ""), 0);
	ssize_t len = pread(spool.fd, bytes, sizeof(bytes), 0);
	assert_true(len > 0);
	assert_non_null(memmem(bytes, (size_t)len, sentence, sizeof(sentence) - 1));
	spool_close(&spool);
}

/* Whether the coverage has that text. */
static bool is_noted(const struct controller_state *s, const char *text)
{
	char bytes[16384];
	struct spool spool;

	assert_int_equal(spool_open(&spool), 0);
	assert_int_equal(coverage_add(&spool, s, ""), 0);
	ssize_t len = pread(spool.fd, bytes, sizeof(bytes), 0);
	spool_close(&spool);
	assert_true(len > 0);
	return memmem(bytes, (size_t)len, text, strlen(text));
}

#define MATCHED   100
#define CHOSEN    40
#define DELIVERED 39

/* All match, and the first CHOSEN take part. */
static void answer_all(struct gather *census, struct gather *nodes, const u8 *id)
{
	static const struct gather_host none;

	gather_init(census, &none, id, id, INBOX);
	gather_init(nodes, &none, id, id, INBOX);
	nodes->asked_ms = 10000;
	for (u32 i = 0; i < MATCHED; i++) {
		struct fleet_message m = { .kind = MESSAGE_ANSWER, .answer.busy_ppm = 1000000 };
		memcpy(m.answer.id, id, FLEET_ID_LEN);
		snprintf(m.answer.node, sizeof(m.answer.node), "n%u", i);
		gather_take_direct(census, &m, NULL);
		if (i < CHOSEN)
			gather_take_direct(nodes, &m, NULL);
	}
}

/*
 * 40 of 100 nodes were chosen, and 39 delivered: two without samples of the selection, one that had
 * recorded half of the time.
 */
static void the_estimate_is_scaled_by_the_nodes_that_delivered(void **state)
{
	struct gather census = { .asked_ms = 0 }, nodes = { .asked_ms = 10000 };
	const u8 id[FLEET_ID_LEN] = { 1 };
	struct merge_total totals[CHOSEN] = { 0 };
	struct choice choice;
	double sum = 0;

	answer_all(&census, &nodes, id);
	nodes.census = &census;
	choice_take(&choice, &census, id, false);
	choice_plan(&choice, CHOSEN, false);
	for (u32 i = 0; i < DELIVERED; i++) {
		struct gather_node *n = gather_find(&nodes, nodes.nodes.at[i]->name);
		n->state = GATHER_DELIVERED;
		n->covered_ms = i == 5 ? 5000 : 10000;
		copy_text(totals[i].node, sizeof(totals[i].node), n->name);
		totals[i].raw = i < 2 ? 0 : 20 + i;
		totals[i].err = i < 2 ? ENODATA : 0;
		sum += (double)totals[i].raw * (i == 5 ? 2 : 1);
	}
	struct controller_state s = { .nr_matched = MATCHED,
				      .nr_chosen = CHOSEN,
				      .p = 0.4,
				      .is_estimate = true,
				      .choice = &choice,
				      .nodes = &nodes,
				      .census = &census,
				      .totals = totals,
				      .nr_totals = DELIVERED };
	struct estimate e = coverage_estimate(&s);
	assert_true(fabs(e.total / (sum * MATCHED / DELIVERED) - 1) < 1e-6);
	assert_true(fabs(coverage_factor(&s) - (double)CHOSEN / DELIVERED) < 1e-6);
	assert_int_equal(e.fault, ESTIMATE_MISSING); /* 1 of 40 is 2.5 % */
	assert_true(e.least < e.total && e.total < e.most);
	auto_free char *doubt = coverage_doubt(&s, &e);
	assert_non_null(
		strstr(doubt, "no interval: more than 2 % of the chosen nodes are missing"));
	nodes.nodes.at[DELIVERED]->state = GATHER_DELIVERED;
	copy_text(totals[DELIVERED].node, sizeof(totals[0].node), nodes.nodes.at[DELIVERED]->name);
	totals[DELIVERED].raw = 40;
	s.nr_totals = CHOSEN;
	e = coverage_estimate(&s);
	assert_true(e.has_interval && e.low < e.total && e.total < e.high);
	assert_false(is_noted(&s, "what their use of CPUs in the census makes likely"));
	totals[7].raw = 5000; /* it said that it was as busy as the others */
	assert_true(is_noted(&s, "what their use of CPUs in the census makes likely; most, n7"));
	assert_true(
		is_noted(&s, "nodes recorded less than 90 % of the time; their values are scaled"));
	gather_fini(&census);
	gather_fini(&nodes);
}

static void request(void *ctx, const struct fleet_request *r)
{
	memcpy(((struct world *)ctx)->id, r->id, FLEET_ID_LEN);
}

static void say(struct world *w, struct fleet_message m, const void *result)
{
	if (m.kind == MESSAGE_ANSWER) {
		memcpy(m.answer.id, w->id, FLEET_ID_LEN);
		strcpy(m.answer.node, "n1");
		strcpy(m.answer.labels, "node=n1");
	} else {
		memcpy(m.done.id, w->id, FLEET_ID_LEN);
		strcpy(m.done.node, "n1");
	}
	controller_take(w->c, &m, result);
}

/* The node of an HTTP fleet accepts the request when the profiles of the others are merged already.
 */
static void a_result_that_comes_while_profiles_are_merged_is_not_counted(void **state)
{
	const struct fleet_message accept = { .kind = MESSAGE_ANSWER };
	const struct fleet_message done = { .kind = MESSAGE_DONE, .done.size = 4 };
	struct controller_state s;
	struct world w;

	begin(&w, WANT_SLICES, "");
	end(&w);
	w.host.request = request;
	w.host.stop = NULL;
	assert_int_equal(controller_start(&w.order, &w.host, &w.c), 0);
	say(&w, accept, NULL);
	for (u32 i = 0; (s = step(&w, NS_PER_SEC)).phase < CONTROLLER_MERGES; i++)
		assert_true(i < 1000);
	say(&w, accept, NULL);
	say(&w, done, "text");
	s = controller_view(w.c);
	assert_int_equal(gather_count(s.nodes, GATHER_DELIVERED), 0);
	end(&w);
}

/* Of 25 s on one CPU, while 30 were asked for. */
static void what_a_stopped_recording_has_recorded_counts(void **state)
{
	static const char result[] = "main 2475\n";
	const struct fleet_message accept = { .kind = MESSAGE_ANSWER, .answer.nr_cpus = 1 };
	const struct fleet_message done = { .kind = MESSAGE_DONE, .done.size = sizeof(result) - 1 };
	struct controller_state s;
	struct world w;

	begin(&w, WANT_RECORDING, "");
	end(&w);
	strcpy(w.order.events, "cpu");
	w.host.request = request;
	w.host.stop = NULL;
	assert_int_equal(controller_start(&w.order, &w.host, &w.c), 0);
	say(&w, accept, NULL);
	for (u32 i = 0; step(&w, NS_PER_SEC).phase < CONTROLLER_RECORDS; i++)
		assert_true(i < 1000);
	say(&w, accept, NULL);
	step(&w, 25 * NS_PER_SEC);
	controller_stop(w.c);
	say(&w, done, result);
	for (u32 i = 0; (s = step(&w, NS_PER_MS)).phase < CONTROLLER_ENDED; i++)
		assert_true(i < 100000);
	assert_null(s.error);
	assert_int_equal(gather_count(s.nodes, GATHER_DELIVERED), 1);
	end(&w);
}

/* Another process: its controller has the file of the first one. */
static void resume(struct world *w, const struct str *saved)
{
	controller_free(w->c);
	w->nr_alives = 0;
	w->now_ns += NS_PER_SEC;
	assert_int_equal(controller_resume(saved->at, saved->len, &w->host, &w->c), 0);
}

static void a_saved_request_goes_on_in_another_controller(void **state)
{
	auto_str struct str saved = { 0 };
	char inbox[64];
	struct world w;

	record(&w);
	controller_save(w.c, &saved);
	assert_true(controller_saved(saved.at, saved.len, inbox));
	assert_string_equal(inbox, INBOX);
	resume(&w, &saved);
	assert_int_equal(w.nr_alives, 3);
	struct controller_state s = controller_view(w.c);
	assert_int_equal(s.nr_matched, 2);
	assert_int_equal(s.nr_chosen, 2);
	assert_int_equal(gather_count(s.nodes, GATHER_WORKS), 2);
	done(&w, "n1");
	done(&w, "n2");
	assert_int_equal(step(&w, NS_PER_MS).phase, CONTROLLER_FETCHES);
	end(&w);
}

/* The second controller knows that one of 20 chosen nodes was asked, and asks the others later. */
static void a_saved_request_knows_its_waves(void **state)
{
	auto_str struct str saved = { 0 };
	struct world w;

	begin(&w, WANT_RECORDING, "");
	end(&w);
	w.order.has_waves = true;
	w.order.watch_s = CONTROLLER_WATCH_S;
	w.order.nr_nodes = 20;
	assert_int_equal(controller_start(&w.order, &w.host, &w.c), 0);
	for (u32 i = 0; i < 40; i++) {
		auto_free char *name = xasprintf("n%u", i);
		answer(&w, name, "x", VERDICT_ACCEPT);
	}
	struct controller_state before = step(&w, NS_PER_SEC);
	assert_int_equal(before.nr_waves, 2);
	u32 to_rank = before.choice->waves[0].to_rank;
	controller_save(w.c, &saved);
	resume(&w, &saved);
	struct controller_state s = controller_view(w.c);
	assert_int_equal(s.nr_matched, 40);
	assert_int_equal(s.nr_chosen, 20);
	assert_int_equal(s.nr_waves, 2);
	assert_true(s.is_estimate);
	assert_int_equal(gather_count(s.nodes, GATHER_WORKS), 1);
	done(&w, s.nodes->nodes.at[0]->name);
	assert_int_equal(step(&w, NS_PER_MS).phase, CONTROLLER_WATCHES);
	step(&w, CONTROLLER_WATCH_S * NS_PER_SEC);
	assert_int_equal(controller_view(w.c).wave, 1);
	assert_int_equal(w.request.sampling.from_rank, to_rank);
	end(&w);
}

static void a_damaged_file_of_a_request_is_refused(void **state)
{
	auto_str struct str saved = { 0 };
	struct controller *c;
	struct world w;

	record(&w);
	controller_save(w.c, &saved);
	for (size_t len = 0; len < saved.len; len++)
		assert_int_equal(controller_resume(saved.at, len, &w.host, &c), -EBADMSG);
	for (size_t i = 0; i < saved.len; i++) {
		saved.at[i] ^= 0xff;
		assert_int_equal(controller_resume(saved.at, saved.len, &w.host, &c), -EBADMSG);
		saved.at[i] ^= 0xff;
	}
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_that_refuses_the_key_does_not_fail_the_others),
		cmocka_unit_test(a_node_that_refuses_the_key_can_be_left_out_by_its_labels),
		cmocka_unit_test(a_key_that_no_node_knows_fails_the_request),
		cmocka_unit_test(a_node_that_the_census_lacks_is_stopped_and_does_not_count),
		cmocka_unit_test(the_census_goes_on_while_answers_arrive),
		cmocka_unit_test(the_census_ends_soon_after_the_last_node_that_was_seen_before),
		cmocka_unit_test(the_first_answer_may_take_longer_than_the_last),
		cmocka_unit_test(time_in_which_the_controller_does_not_run_is_no_silence),
		cmocka_unit_test(late_answers_to_the_census_keep_the_request_waiting),
		cmocka_unit_test(an_answer_after_the_census_is_named),
		cmocka_unit_test(a_node_that_is_overdue_is_asked_again),
		cmocka_unit_test(who_stops_again_does_not_wait_for_the_missing),
		cmocka_unit_test(one_failure_of_the_first_node_is_no_evidence),
		cmocka_unit_test(improbable_failures_end_the_recording),
		cmocka_unit_test(a_jvm_that_crashed_ends_the_recording),
		cmocka_unit_test(the_coverage_counts_nodes_that_lost_samples),
		cmocka_unit_test(the_estimate_is_scaled_by_the_nodes_that_delivered),
		cmocka_unit_test(a_result_that_comes_while_profiles_are_merged_is_not_counted),
		cmocka_unit_test(what_a_stopped_recording_has_recorded_counts),
		cmocka_unit_test(a_saved_request_goes_on_in_another_controller),
		cmocka_unit_test(a_saved_request_knows_its_waves),
		cmocka_unit_test(a_damaged_file_of_a_request_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
