/* SPDX-License-Identifier: Apache-2.0 */
/* Fetches and merges results for controllers. */
#include "fleet/aggregator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/auto.h"
#include "base/time.h"
#include "fleet/inbox.h"
#include "fleet/key.h"
#include "fleet/merge.h"
#include "fleet/pull.h"

#define ALIVE_NS NS_PER_SEC
#define REQUESTS 256 /* whose secrets are taken; the oldest is forgotten */

enum set_state {
	SET_FETCHES,
	SET_MERGES,
	SET_DONE, /* the controller fetches `result` */
};

struct fetched {
	struct set *set;
	struct pull pull;
	char labels[256];
	u64 weight_ppm;
};

/* A task. */
struct set {
	struct aggregator *of;
	enum set_state state;
	u8 id[FLEET_ID_LEN], secret[FLEET_ID_LEN];
	char reply[192];
	struct pulls_host host;
	struct pulls pulls;
	struct fetched *nodes;
	u32 nr_nodes, nr_ended;
	char (*failed)[64];
	u32 nr_failed;
	struct spool spool;
	struct merge_order order;
	struct work *work;
	struct str result;
	u64 alive_ns, done_ns;
};

/* Who signed a census, and the hash of its secret. */
struct asker {
	u8 key[FLEET_KEY_LEN], hash[FLEET_HASH_LEN];
};

struct aggregator {
	const struct aggregator_host *host;
	char name[64], labels[256], subjects[4][128];
	u64 instance, now_ns;
	VEC(struct set *) sets;
	struct asker askers[REQUESTS];
	u32 nr_askers, next_asker;
	struct aggregator_counts counts;
};

static void set_free(struct set *s)
{
	pulls_fini(&s->pulls);
	work_free(s->work);
	spool_close(&s->spool);
	str_fini(&s->result);
	explicit_bzero(s->secret, sizeof(s->secret));
	free(s->nodes);
	free(s->failed);
	free(s);
}

struct aggregator *aggregator_new(const char *name, const char *labels,
				  const struct aggregator_host *host)
{
	struct aggregator *a = xcalloc(1, sizeof(*a));

	a->host = host;
	copy_text(a->name, sizeof(a->name), name);
	copy_text(a->labels, sizeof(a->labels), labels);
	copy_text(a->subjects[0], sizeof(a->subjects[0]), "sysflame.v1.agg.all");
	snprintf(a->subjects[1], sizeof(a->subjects[1]), "sysflame.v1.agg.%s", name);
	snprintf(a->subjects[2], sizeof(a->subjects[2]), "sysflame.v1.agg.%s.get", name);
	snprintf(a->subjects[3], sizeof(a->subjects[3]), "%s.>", host->inbox);
	if (getrandom(&a->instance, sizeof(a->instance), 0) == sizeof(a->instance))
		return a;
	free(a);
	return NULL;
}

void aggregator_free(struct aggregator *a)
{
	if (!a)
		return;
	vec_each(s, &a->sets)
		set_free(*s);
	vec_fini(&a->sets);
	free(a);
}

const char *aggregator_subject(const struct aggregator *a, u32 i)
{
	return i < ARRAY_SIZE(a->subjects) ? a->subjects[i] : NULL;
}

/* To a subject with the own name: no other may publish there. */
static void publish(struct aggregator *a, const char *to, const struct fleet_message *m)
{
	auto_free char *own = xasprintf("%s.%s", to, a->name);
	auto_str struct str bytes = { 0 };

	message_encode(m, &bytes);
	a->host->publish(a->host->ctx, own, "", bytes.at, bytes.len);
}

/* --- sets ------------------------------------------------------------------------------------- */

static void say_merged(struct set *s, enum verdict v, const char *why)
{
	struct fleet_message m = { .kind = MESSAGE_MERGED };
	struct fleet_merged *out = &m.merged;

	memcpy(out->id, s->id, sizeof(out->id));
	copy_text(out->node, sizeof(out->node), s->of->name);
	copy_text(out->why, sizeof(out->why), why);
	out->instance = s->of->instance;
	out->verdict = v;
	out->failed = s->failed;
	out->nr_failed = s->nr_failed;
	if (!v) {
		out->size = s->result.len;
		digest(s->result.at, s->result.len, out->sha256);
	}
	publish(s->of, s->reply, &m);
	s->state = SET_DONE;
	s->done_ns = s->of->now_ns;
	s->of->counts.nr_sets++;
}

static void set_publish(void *ctx, const char *subject, const char *reply, const void *bytes,
			size_t len)
{
	struct set *s = ctx;

	s->of->host->publish(s->of->host->ctx, subject, reply, bytes, len);
}

/* A pulls_host.done. */
static void fetched(void *ctx, struct pull *p, const char *why)
{
	struct set *s = ctx;
	struct fetched *n = p->owner;
	const struct spool_result r = { p->name, n->labels, n->weight_ppm, p->bytes, p->size };

	s->nr_ended++;
	if (why || spool_add(&s->spool, &r))
		copy_text(s->failed[s->nr_failed++], sizeof(s->failed[0]), p->name);
	else
		s->of->counts.nr_results++;
	s->of->counts.nr_failed += why != NULL;
	free(take(p->bytes));
}

static void add_node(struct set *s, const struct fleet_task_node *n)
{
	struct fetched *f = &s->nodes[s->nr_nodes++];

	f->set = s;
	f->weight_ppm = n->weight_ppm;
	copy_text(f->labels, sizeof(f->labels), n->labels);
	f->pull = (struct pull){
		.prefix = "sysflame.v1.node.", .instance = n->instance, .size = n->size, .owner = f
	};
	copy_text(f->pull.name, sizeof(f->pull.name), n->node);
	memcpy(f->pull.id, n->request, sizeof(f->pull.id));
	memcpy(f->pull.sha256, n->sha256, sizeof(f->pull.sha256));
	pulls_add(&s->pulls, &f->pull);
}

static bool has_set(const struct aggregator *a, const u8 *id)
{
	vec_each(s, &a->sets)
		if (!memcmp((*s)->id, id, FLEET_ID_LEN))
			return true;
	return false;
}

static bool is_known(const struct aggregator *a, const u8 *key)
{
	return !a->host->keys || keys_find(a->host->keys, key);
}

/* Keys may have changed since. */
static bool has_asker(const struct aggregator *a, const u8 *hash)
{
	for (u32 i = 0; i < a->nr_askers; i++)
		if (!memcmp(a->askers[i].hash, hash, FLEET_HASH_LEN) &&
		    is_known(a, a->askers[i].key))
			return true;
	return false;
}

/* Whether somebody with a known key has signed the hash of the task's secret. */
static bool is_of_known(struct aggregator *a, const struct fleet_task *t)
{
	u8 hash[FLEET_HASH_LEN];

	digest(t->secret, sizeof(t->secret), hash);
	if (!a->host->keys || has_asker(a, hash))
		return true;
	a->counts.nr_refused++;
	return false;
}

static void take_task(struct aggregator *a, const char *reply, const struct fleet_task *t)
{
	struct set *s;
	u32 nr = 0;

	vec_each(old, &a->sets)
		nr += (*old)->state != SET_DONE;
	if (t->instance != a->instance || has_set(a, t->id) || !is_of_known(a, t))
		return;
	s = xcalloc(1, sizeof(*s));
	s->of = a;
	s->alive_ns = a->now_ns;
	s->host = (struct pulls_host){ s, set_publish, fetched };
	s->order = (struct merge_order){ .share_ppb = t->share_ppb ?: 1,
					 .keeps_nodes = t->keeps_nodes };
	memcpy(s->id, t->id, sizeof(s->id));
	memcpy(s->secret, t->secret, sizeof(s->secret));
	copy_text(s->reply, sizeof(s->reply), reply);
	pulls_init(&s->pulls, &s->host, t->secret, a->host->inbox);
	s->nodes = xcalloc(t->nr_nodes, sizeof(s->nodes[0]));
	s->failed = xcalloc(t->nr_nodes, sizeof(s->failed[0]));
	vec_push(&a->sets, s);
	if (nr >= AGGREGATOR_WORK_MAX || spool_open(&s->spool)) {
		s->spool.fd = -1;
		say_merged(s, VERDICT_BUSY, "As many sets are merged as may.");
		return;
	}
	for (u32 i = 0; i < t->nr_nodes; i++)
		add_node(s, &t->nodes[i]);
}

/* --- messages --------------------------------------------------------------------------------- */

static void take_hello(struct aggregator *a, const char *reply, const struct fleet_signed *sealed)
{
	struct fleet_message m = { .kind = MESSAGE_ANSWER };
	struct fleet_request r;

	if (request_decode(sealed->request, sealed->len, &r) || r.want != WANT_CENSUS)
		return;
	if (!is_known(a, sealed->key) ||
	    (a->host->keys && !key_has_signed(KEY_FOR_REQUEST, sealed))) {
		a->counts.nr_refused++;
		return;
	}
	if (!has_asker(a, r.pull_hash)) {
		struct asker *new = &a->askers[a->next_asker];
		memcpy(new->key, sealed->key, sizeof(new->key));
		memcpy(new->hash, r.pull_hash, sizeof(new->hash));
		a->next_asker = (a->next_asker + 1) % REQUESTS;
		a->nr_askers += a->nr_askers < REQUESTS;
	}
	memcpy(m.answer.id, r.id, sizeof(m.answer.id));
	copy_text(m.answer.node, sizeof(m.answer.node), a->name);
	copy_text(m.answer.labels, sizeof(m.answer.labels), a->labels);
	copy_text(m.answer.version, sizeof(m.answer.version), SYSFLAME_VERSION);
	m.answer.instance = a->instance;
	publish(a, reply, &m);
}

/* A chunk without data: there is no such result. */
static void take_get(struct aggregator *a, const char *reply, const struct fleet_get *get)
{
	struct fleet_message m = { .kind = MESSAGE_CHUNK };
	auto_str struct str bytes = { 0 };

	if (get->instance != a->instance)
		return;
	memcpy(m.chunk.id, get->id, sizeof(m.chunk.id));
	copy_text(m.chunk.node, sizeof(m.chunk.node), a->name);
	m.chunk.instance = a->instance;
	m.chunk.offset = get->offset;
	vec_each(at, &a->sets) {
		const struct set *s = *at;
		if (s->state != SET_DONE || memcmp(s->id, get->id, sizeof(s->id)) != 0 ||
		    memcmp(s->secret, get->secret, sizeof(s->secret)) != 0 ||
		    get->offset >= s->result.len)
			continue;
		u64 left = s->result.len - get->offset;
		m.chunk.data = (const u8 *)s->result.at + get->offset;
		m.chunk.len = get->len < left ? get->len : (u32)left;
	}
	message_encode(&m, &bytes);
	a->host->publish(a->host->ctx, reply, "", bytes.at, bytes.len);
}

/* Otherwise whoever asks could have it publish anywhere. */
static bool is_inbox(const char *reply)
{
	return !strncmp(reply, "_INBOX.", 7) && strlen(reply) < 180 &&
	       strcspn(reply, " *>\t\r\n") == strlen(reply);
}

void aggregator_message(struct aggregator *a, const char *subject, const char *reply,
			const void *bytes, size_t len)
{
	struct fleet_message m;

	if (message_decode(bytes, len, &m))
		return;
	if (m.kind == MESSAGE_SIGNED && is_inbox(reply))
		take_hello(a, reply, &m.sealed);
	else if (m.kind == MESSAGE_TASK && is_inbox(reply))
		take_task(a, reply, &m.task);
	else if (m.kind == MESSAGE_GET && is_inbox(reply))
		take_get(a, reply, &m.get);
	else if (m.kind == MESSAGE_CHUNK && inbox_is_right(a->host->inbox, subject, &m))
		vec_each(s, &a->sets)
			pulls_take(&(*s)->pulls, &m.chunk);
	message_fini(&m);
}

/* --- steps ------------------------------------------------------------------------------------ */

static void take_result(struct set *s)
{
	auto_str struct str why = { 0 };
	int err = merge_result(s->work, &s->result, &why);

	if (err == -EAGAIN)
		return;
	work_free(take(s->work));
	spool_close(&s->spool);
	if (!err && s->result.len > FLEET_MERGED_MAX) {
		err = -EFBIG;
		str_add(&why, "The merged profile is larger than 32 MiB.");
	}
	say_merged(s, err ? VERDICT_FAILED : VERDICT_ACCEPT, err ? why.at : "");
}

static void say_alive(struct set *s)
{
	struct fleet_message m = { .kind = MESSAGE_ALIVE, .control.has_id = true };

	if (s->of->now_ns - s->alive_ns < ALIVE_NS)
		return;
	s->alive_ns = s->of->now_ns;
	memcpy(m.control.id, s->id, sizeof(m.control.id));
	publish(s->of, s->reply, &m);
}

static void step_set(struct set *s)
{
	if (s->state == SET_DONE)
		return;
	say_alive(s);
	pulls_tick(&s->pulls, s->of->now_ns);
	if (s->state == SET_FETCHES && s->nr_ended == s->nr_nodes) {
		s->state = SET_MERGES;
		s->work = merge_begin_spool(s->of->host->workers, &s->spool, &s->order);
	}
	if (s->state == SET_MERGES)
		take_result(s);
}

void aggregator_step(struct aggregator *a)
{
	a->now_ns = a->host->mono_ns(a->host->ctx);
	if (a->host->workers)
		workers_poll(a->host->workers);
	for (size_t i = a->sets.nr; i-- > 0;) {
		struct set *s = a->sets.at[i];
		step_set(s);
		if (s->state != SET_DONE || a->now_ns - s->done_ns < AGGREGATOR_KEEP_S * NS_PER_SEC)
			continue;
		set_free(s);
		a->sets.at[i] = a->sets.at[--a->sets.nr];
	}
}

struct aggregator_counts aggregator_counts(const struct aggregator *a)
{
	return a->counts;
}
