/* SPDX-License-Identifier: Apache-2.0 */
/* For whom an aggregator works. */
#include "test.h"

#include <string.h>

#include "base/auto.h"
#include "fleet/aggregator.h"

struct world {
	struct aggregator_host host;
	struct aggregator *a;
	struct fleet_keys keys;
	u8 private_key[FLEET_KEY_LEN];
	u32 nr_published;
	u64 instance; /* from its answer */
	char subject[256];
};

static u64 mono_ns(void *ctx)
{
	return 1;
}

static void publish(void *ctx, const char *subject, const char *reply, const void *bytes,
		    size_t len)
{
	struct world *w = ctx;
	struct fleet_message m;

	w->nr_published++;
	snprintf(w->subject, sizeof(w->subject), "%s", subject);
	assert_int_equal(message_decode(bytes, len, &m), 0);
	if (m.kind == MESSAGE_ANSWER)
		w->instance = m.answer.instance;
	message_fini(&m);
}

static void begin(struct world *w, bool has_keys)
{
	struct fleet_key key = { .role = FLEET_VIEWER, .person = "anna" };

	*w = (struct world){
		.host = { .mono_ns = mono_ns, .publish = publish, .inbox = "_INBOX.agg1.x" }
	};
	w->host.ctx = w;
	w->host.keys = has_keys ? &w->keys : NULL;
	assert_int_equal(key_new(w->private_key, key.key), 0);
	vec_push(&w->keys.all, key);
	w->a = aggregator_new("agg1", "", &w->host);
	assert_non_null(w->a);
}

static void end(struct world *w)
{
	aggregator_free(w->a);
	keys_fini(&w->keys);
}

static void hand(struct world *w, const struct fleet_message *m)
{
	auto_str struct str bytes = { 0 };

	message_encode(m, &bytes);
	aggregator_message(w->a, "sysflame.v1.agg.all", "_INBOX.anna.x.answer", bytes.at,
			   bytes.len);
	aggregator_step(w->a);
}

/* A census, with the hash of a secret of equal bytes. */
static void take_census(struct world *w, const u8 *private_key, u8 secret)
{
	struct fleet_message m = { .kind = MESSAGE_SIGNED };
	struct fleet_request r = { .want = WANT_CENSUS, .share_ppb = FLEET_PPB, .id = { 9 } };
	u8 bytes[FLEET_ID_LEN];

	memset(bytes, secret, sizeof(bytes));
	digest(bytes, sizeof(bytes), r.pull_hash);
	assert_int_equal(request_encode(&r, &m.sealed), 0);
	assert_int_equal(key_sign(private_key, KEY_FOR_REQUEST, &m.sealed), 0);
	hand(w, &m);
}

static void take_task(struct world *w, u8 secret, u8 id)
{
	struct fleet_task_node node = {
		.node = "n1", .instance = 5, .size = 100, .weight_ppm = 1000000
	};
	struct fleet_message m = { .kind = MESSAGE_TASK,
				   .task = { .id = { id },
					     .instance = w->instance,
					     .share_ppb = FLEET_PPB,
					     .nodes = &node,
					     .nr_nodes = 1 } };

	memset(m.task.secret, secret, sizeof(m.task.secret));
	hand(w, &m);
}

static void a_task_takes_the_secret_that_a_known_key_signed(void **state)
{
	struct world w;

	begin(&w, true);
	take_census(&w, w.private_key, 1);
	assert_int_equal(w.nr_published, 1);
	assert_string_equal(w.subject, "_INBOX.anna.x.answer.agg1");
	take_task(&w, 2, 1);
	assert_int_equal(w.nr_published, 1);
	take_task(&w, 1, 2);
	assert_int_equal(w.nr_published, 2);
	assert_string_equal(w.subject, "sysflame.v1.node.n1.get");
	assert_int_equal(aggregator_counts(w.a).nr_refused, 1);
	end(&w);
}

static void a_stranger_gets_no_answer_and_no_work_done(void **state)
{
	u8 private_key[FLEET_KEY_LEN], public_key[FLEET_KEY_LEN];
	struct world w;

	begin(&w, true);
	assert_int_equal(key_new(private_key, public_key), 0);
	take_census(&w, w.private_key, 7);
	w.nr_published = 0;
	take_census(&w, private_key, 1);
	take_task(&w, 1, 1);
	assert_int_equal(w.nr_published, 0);
	assert_int_equal(aggregator_counts(w.a).nr_refused, 2);
	end(&w);
}

static void a_person_who_left_the_keys_gives_no_work(void **state)
{
	struct world w;

	begin(&w, true);
	take_census(&w, w.private_key, 1);
	w.nr_published = 0;
	keys_fini(&w.keys);
	take_task(&w, 1, 1);
	take_census(&w, w.private_key, 2);
	assert_int_equal(w.nr_published, 0);
	assert_int_equal(aggregator_counts(w.a).nr_refused, 2);
	end(&w);
}

static void without_keys_nats_alone_decides(void **state)
{
	struct world w;

	begin(&w, false);
	take_census(&w, w.private_key, 1);
	take_task(&w, 2, 1);
	assert_string_equal(w.subject, "sysflame.v1.node.n1.get");
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_takes_the_secret_that_a_known_key_signed),
		cmocka_unit_test(a_stranger_gets_no_answer_and_no_work_done),
		cmocka_unit_test(a_person_who_left_the_keys_gives_no_work),
		cmocka_unit_test(without_keys_nats_alone_decides),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
