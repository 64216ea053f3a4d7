/* SPDX-License-Identifier: Apache-2.0 */
/* A node of the fleet between a fake daemon and a controller, with a clock of its own. Include it
 * after test.h. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "fleet/controller/gather.h"
#include "fleet/node/node_agent.h"
#include "gather_bytes.h"

#define HOUR_MS 3600000ull

struct sent {
	char subject[128], reply[128];
	struct str bytes;
};

/* A daemon that does what the test says, and everything that was published. */
struct world {
	struct node_agent *agent;
	struct node_agent_host host;
	struct gather gather;
	struct gather_host controller;
	u64 mono_ns, wall_ms, lost;
	bool is_disabled, runs;
	struct node_agent_facts facts;
	u32 number; /* of the last start */
	enum fleet_want want;
	u32 nr_started, nr_stopped, nr_audited, nr_delivered;
	VEC(struct sent) sent;                                   /* by the node */
	VEC(struct sent) gets;                                   /* by the controller */
	char audited[256];                                       /* the last entry */
	u8 private_key[FLEET_KEY_LEN], other_key[FLEET_KEY_LEN]; /* of anna, and of otto */
	struct fleet_request request;
	struct str delivered, kept; /* `kept`: the message with the fleet's policy */
};

static inline u64 mono_ns(void *ctx)
{
	return ((struct world *)ctx)->mono_ns;
}

static inline u64 wall_ms(void *ctx)
{
	return ((struct world *)ctx)->wall_ms;
}

static inline bool is_disabled(void *ctx)
{
	return ((struct world *)ctx)->is_disabled;
}

static inline void look(void *ctx, struct node_agent_facts *out)
{
	*out = ((struct world *)ctx)->facts;
}

static inline bool runs(void *ctx, const struct selector *s)
{
	return ((struct world *)ctx)->runs;
}

static inline void start(void *ctx, const struct node_agent_work *w)
{
	struct world *world = ctx;

	world->number = w->number;
	world->want = w->request->want;
	world->nr_started++;
}

static inline void stop(void *ctx, u32 number)
{
	((struct world *)ctx)->nr_stopped++;
}

static inline bool progress(void *ctx, u32 number, u64 *samples, u64 *lost)
{
	*samples = 10000;
	*lost = ((struct world *)ctx)->lost;
	return true;
}

static inline void publish(void *ctx, const char *subject, const void *bytes, size_t len)
{
	struct world *w = ctx;
	struct sent s = { 0 };

	copy_text(s.subject, sizeof(s.subject), subject);
	str_add_bytes(&s.bytes, bytes, len);
	vec_push(&w->sent, s);
}

static inline void audit(void *ctx, const char *person, const char *what)
{
	((struct world *)ctx)->nr_audited++;
	assert_true(!strcmp(person, "anna") || !strcmp(person, "otto") || !strcmp(person, "-"));
	copy_text(((struct world *)ctx)->audited, sizeof(((struct world *)ctx)->audited), what);
}

static inline void keep_policy(void *ctx, const void *bytes, size_t len)
{
	struct world *w = ctx;

	str_clear(&w->kept);
	str_add_bytes(&w->kept, bytes, len);
}

static inline void get(void *ctx, const char *subject, const char *reply, const void *bytes,
		       size_t len)
{
	struct world *w = ctx;
	struct sent s = { 0 };

	copy_text(s.subject, sizeof(s.subject), subject);
	copy_text(s.reply, sizeof(s.reply), reply);
	str_add_bytes(&s.bytes, bytes, len);
	vec_push(&w->gets, s);
}

static inline void stop_node(void *ctx, const char *node)
{
}

static inline int deliver(void *ctx, const struct gather_node *n)
{
	struct world *w = ctx;

	w->nr_delivered++;
	str_clear(&w->delivered);
	str_add_bytes(&w->delivered, n->pull.bytes, n->pull.size);
	return 0;
}

static inline void set_role(struct world *w, enum fleet_role role)
{
	struct fleet_key k = { .role = role, .person = "anna" };
	struct fleet_key other = { .role = FLEET_VIEWER, .person = "otto" };
	struct fleet_keys keys = { 0 };

	assert_int_equal(key_public(w->private_key, k.key), 0);
	assert_int_equal(key_public(w->other_key, other.key), 0);
	vec_push(&keys.all, k);
	vec_push(&keys.all, other);
	node_agent_set_keys(w->agent, &keys);
}

static inline int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	u8 public_key[FLEET_KEY_LEN];

	w->host = (struct node_agent_host){ .ctx = w,
					    .mono_ns = mono_ns,
					    .wall_ms = wall_ms,
					    .is_disabled = is_disabled,
					    .look = look,
					    .runs = runs,
					    .start = start,
					    .stop = stop,
					    .progress = progress,
					    .publish = publish,
					    .audit = audit,
					    .refusal = audit,
					    .keep_policy = keep_policy };
	w->controller = (struct gather_host){ w, get, stop_node, deliver };
	w->mono_ns = 1000 * NS_PER_SEC;
	w->wall_ms = 1000 * HOUR_MS;
	w->runs = true;
	w->facts = (struct node_agent_facts){ .has_recorder = true,
					      .nr_cpus = 2,
					      .caps = { 999, 3600 },
					      .services = { "checkout" },
					      .nr_services = 1,
					      .nr_all_services = 1 };
	w->agent = node_agent_new("n1", "zone=a", &w->host);
	assert_int_equal(key_new(w->private_key, public_key), 0);
	assert_int_equal(key_new(w->other_key, public_key), 0);
	set_role(w, FLEET_OPERATOR);
	w->request = (struct fleet_request){ .want = WANT_RECORDING,
					     .events = "cpu",
					     .hz = 99,
					     .duration_s = 30,
					     .sampling.to_rank = UINT32_MAX };
	*state = w;
	return 0;
}

static inline void forget(struct world *w)
{
	vec_each(s, &w->sent)
		str_fini(&s->bytes);
	vec_each(s, &w->gets)
		str_fini(&s->bytes);
	w->sent.nr = w->gets.nr = 0;
}

static inline int end(void **state)
{
	struct world *w = *state;

	forget(w);
	vec_fini(&w->sent);
	vec_fini(&w->gets);
	gather_fini(&w->gather);
	node_agent_free(w->agent);
	str_fini(&w->delivered);
	str_fini(&w->kept);
	free(w);
	return 0;
}

static inline void send_signed(struct world *w, struct fleet_request *r, const u8 *key,
			       const char *reply)
{
	struct fleet_message m = { .kind = MESSAGE_SIGNED };
	auto_str struct str bytes = { 0 };

	if (!r->sent_ms)
		r->sent_ms = w->wall_ms;
	assert_int_equal(request_encode(r, &m.sealed), 0);
	assert_int_equal(key_sign(key, KEY_FOR_REQUEST, &m.sealed), 0);
	message_encode(&m, &bytes);
	node_agent_message(w->agent, reply, bytes.at, bytes.len);
}

/* Sends the request from a new gather, with a new id and nonce, by that key. */
static inline void ask_by(struct world *w, const u8 *key)
{
	static const u8 secret[FLEET_ID_LEN] = { 9 };

	w->request.id[0]++;
	w->request.nonce[0]++;
	digest(secret, sizeof(secret), w->request.pull_hash);
	gather_fini(&w->gather);
	gather_init(&w->gather, &w->controller, w->request.id, secret, "_INBOX.o.x");
	send_signed(w, &w->request, key, "_INBOX.o.x.answer");
}

static inline void ask(struct world *w)
{
	ask_by(w, w->private_key);
}

/* Brings what the node has published to the controller. */
static inline void bring(struct world *w)
{
	for (size_t i = 0; i < w->sent.nr; i++)
		gather_message(&w->gather, w->sent.at[i].subject, w->sent.at[i].bytes.at,
			       w->sent.at[i].bytes.len);
}

static inline void expect(struct world *w, enum verdict v)
{
	bring(w);
	assert_int_equal(w->gather.nodes.nr, 1);
	assert_int_equal(w->gather.nodes.at[0]->verdict, v);
	assert_int_equal(w->gather.nodes.at[0]->state, v ? GATHER_REFUSED : GATHER_WORKS);
	assert_true(!v == !*w->gather.nodes.at[0]->why);
	forget(w);
}

static inline void finish(struct world *w, const void *bytes, size_t len)
{
	const struct node_agent_result r = { .why = "", .bytes = bytes, .len = len, .samples = 7 };

	node_agent_ended(w->agent, w->number, &r);
	bring(w);
	forget(w);
}

/* Asks for chunks until nothing more is asked for. */
static inline void pull(struct world *w)
{
	gather_tick(&w->gather, w->mono_ns);
	for (int i = 0; i < 100 && w->gets.nr; i++) {
		for (size_t k = 0; k < w->gets.nr; k++) {
			node_agent_message(w->agent, w->gets.at[k].reply, w->gets.at[k].bytes.at,
					   w->gets.at[k].bytes.len);
			str_fini(&w->gets.at[k].bytes);
		}
		w->gets.nr = 0;
		bring(w);
		vec_each(s, &w->sent)
			str_fini(&s->bytes);
		w->sent.nr = 0;
	}
	assert_int_equal(w->gets.nr, 0);
}

static inline void run_one(struct world *w)
{
	ask(w);
	node_agent_started(w->agent, w->number, VERDICT_ACCEPT, "");
	expect(w, VERDICT_ACCEPT);
}

static inline void send_alive(struct world *w, const char *reply)
{
	struct fleet_message m = { .kind = MESSAGE_ALIVE };
	auto_str struct str bytes = { 0 };

	memcpy(m.alive.id, w->request.id, sizeof(m.alive.id));
	message_encode(&m, &bytes);
	node_agent_message(w->agent, reply, bytes.at, bytes.len);
}

/* Of the last request, or of all. Nobody hears the answer. */
static inline void send_stop(struct world *w, const u8 *key, bool has_target)
{
	struct fleet_request r = { .want = WANT_STOP };

	r.nonce[0] = ++w->request.nonce[0];
	if (has_target)
		memcpy(r.target, w->request.id, sizeof(r.target));
	send_signed(w, &r, key, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
