/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's view of aggregators. */
#include "fleet/aggregators.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/auto.h"
#include "base/time.h"
#include "fleet/selector.h"

#define PART_NS (NS_PER_SEC / 2) /* a set that is not full goes out after so long */

/* --- sets ------------------------------------------------------------------------------------- */

static void end_task(struct aggregators *a, struct aggregator_task *t)
{
	if (t->is_over)
		return;
	t->is_over = true;
	t->peer->nr_tasks--;
}

static void take_back(struct aggregators *a, struct aggregator_task *t)
{
	for (u32 i = 0; i < t->nr_nodes; i++)
		gather_take_back(a->gather, t->nodes[i]);
	end_task(a, t);
}

/* A pulls_host.done. */
static void pulled(void *ctx, struct pull *p, const char *why)
{
	struct aggregators *a = ctx;
	struct aggregator_task *t = p->owner;

	if (!t->is_over && (why || a->host->deliver(a->host->ctx, p->bytes, p->size))) {
		t->peer->is_dead = true; /* it hands out nothing, or nonsense */
		take_back(a, t);
	} else if (!t->is_over) {
		for (u32 i = 0; i < t->nr_nodes; i++)
			gather_delivered(a->gather, t->nodes[i]);
		end_task(a, t);
	}
	free(take(p->bytes));
}

static void publish(void *ctx, const char *subject, const char *reply, const void *bytes,
		    size_t len)
{
	struct aggregators *a = ctx;

	a->host->publish(a->host->ctx, subject, reply, bytes, len);
}

void aggregators_init(struct aggregators *a, const struct aggregators_host *host, struct gather *g,
		      const u8 *id)
{
	*a = (struct aggregators){ .host = host,
				   .pulls_host = { a, publish, pulled },
				   .gather = g,
				   .share_ppb = FLEET_PPB };
	memcpy(a->id, id, sizeof(a->id));
	pulls_init(&a->pulls, &a->pulls_host, g->pulls.secret, g->pulls.inbox);
}

void aggregators_fini(struct aggregators *a)
{
	pulls_fini(&a->pulls);
	vec_each(t, &a->tasks)
		free(*t);
	vec_each(p, &a->peers)
		free(*p);
	vec_fini(&a->tasks);
	vec_fini(&a->peers);
}

static void fill_node(const struct aggregators *a, const struct gather_node *n,
		      struct fleet_task_node *out)
{
	copy_text(out->node, sizeof(out->node), n->name);
	copy_text(out->labels, sizeof(out->labels), n->labels);
	out->instance = n->instance;
	out->size = n->pull.size;
	out->weight_ppm = gather_weight_ppm(a->gather, n);
	memcpy(out->request, n->pull.id, sizeof(out->request));
	memcpy(out->sha256, n->pull.sha256, sizeof(out->sha256));
}

static void send_task(struct aggregators *a, struct aggregator_task *t)
{
	struct fleet_task_node *nodes = xcalloc(t->nr_nodes, sizeof(nodes[0]));
	struct fleet_message m = { .kind = MESSAGE_TASK };
	auto_free char *subject = xasprintf("sysflame.v1.agg.%s", t->peer->name);
	auto_free char *reply = xasprintf("%s.answer", a->pulls.inbox);
	auto_str struct str bytes = { 0 };

	for (u32 i = 0; i < t->nr_nodes; i++)
		fill_node(a, t->nodes[i], &nodes[i]);
	memcpy(m.task.id, t->id, sizeof(m.task.id));
	memcpy(m.task.secret, a->pulls.secret, sizeof(m.task.secret));
	m.task.instance = t->peer->instance;
	m.task.share_ppb = a->share_ppb;
	m.task.keeps_nodes = a->keeps_nodes;
	m.task.nodes = nodes;
	m.task.nr_nodes = t->nr_nodes;
	message_encode(&m, &bytes);
	a->host->publish(a->host->ctx, subject, reply, bytes.at, bytes.len);
	free(nodes);
}

static void hand_out(struct aggregators *a, struct aggregator_peer *peer)
{
	struct aggregator_task *t = xcalloc(1, sizeof(*t));

	if (getrandom(t->id, sizeof(t->id), 0) != sizeof(t->id)) {
		free(t);
		return;
	}
	t->peer = peer;
	t->begun_ns = a->now_ns;
	t->nr_nodes = gather_hand_out(a->gather, peer->zone, FLEET_TASK_NODES, t->nodes);
	peer->nr_tasks++;
	peer->heard_ns = a->now_ns;
	vec_push(&a->tasks, t);
	send_task(a, t);
}

/* --- messages --------------------------------------------------------------------------------- */

static void take_answer(struct aggregators *a, const struct fleet_answer *m)
{
	vec_each(at, &a->peers) {
		struct aggregator_peer *old = *at;
		if (strcmp(old->name, m->node) != 0)
			continue;
		return;
	}
	struct aggregator_peer *p = xcalloc(1, sizeof(*p));
	copy_text(p->name, sizeof(p->name), m->node);
	p->instance = m->instance;
	if (!labels_find(m->labels, "zone", p->zone, sizeof(p->zone)))
		*p->zone = '\0';
	vec_push(&a->peers, p);
}

static struct aggregator_task *find(struct aggregators *a, const u8 *id)
{
	vec_each(t, &a->tasks)
		if (!memcmp((*t)->id, id, FLEET_ID_LEN))
			return *t;
	return NULL;
}

static bool is_listed(const struct fleet_merged *m, const char *name)
{
	for (u32 i = 0; i < m->nr_failed; i++)
		if (!strcmp(m->failed[i], name))
			return true;
	return false;
}

/* Nodes that the aggregator could not fetch are asked by the controller, or fail. */
static void take_merged(struct aggregators *a, const struct fleet_merged *m)
{
	struct aggregator_task *t = find(a, m->id);

	if (!t || t->is_over || t->is_pulled || t->peer->instance != m->instance)
		return;
	t->peer->heard_ns = a->now_ns;
	if (m->verdict) {
		t->peer->is_dead = true;
		take_back(a, t);
		return;
	}
	for (u32 i = 0; i < t->nr_nodes; i++)
		if (is_listed(m, t->nodes[i]->name))
			gather_lost(a->gather, t->nodes[i],
				    "An aggregator could not fetch its result.");
	t->is_pulled = true;
	t->pull = (struct pull){
		.prefix = "sysflame.v1.agg.", .instance = m->instance, .size = m->size, .owner = t
	};
	memcpy(t->pull.id, t->id, sizeof(t->id));
	memcpy(t->pull.sha256, m->sha256, sizeof(t->pull.sha256));
	copy_text(t->pull.name, sizeof(t->pull.name), m->node);
	pulls_add(&a->pulls, &t->pull);
}

void aggregators_take(struct aggregators *a, const struct fleet_message *m)
{
	struct aggregator_task *t;

	switch (m->kind) {
	case MESSAGE_ANSWER:
		if (!memcmp(m->answer.id, a->id, sizeof(a->id)))
			take_answer(a, &m->answer);
		break;
	case MESSAGE_ALIVE:
		t = m->control.has_id ? find(a, m->control.id) : NULL;
		if (t)
			t->peer->heard_ns = a->now_ns;
		break;
	case MESSAGE_MERGED:
		take_merged(a, &m->merged);
		break;
	case MESSAGE_CHUNK:
		pulls_take(&a->pulls, &m->chunk);
		break;
	default:
		break;
	}
}

size_t aggregators_alive(const struct aggregators *a)
{
	size_t nr = 0;

	vec_each(p, &a->peers)
		nr += !(*p)->is_dead;
	return nr;
}

static void bury(struct aggregators *a)
{
	vec_each(at, &a->tasks) {
		struct aggregator_task *t = *at;
		if (t->is_over || t->is_pulled)
			continue;
		t->peer->is_dead |= a->now_ns - t->peer->heard_ns > AGGREGATOR_DEAD_MS * NS_PER_MS;
		if (t->peer->is_dead)
			take_back(a, t);
	}
}

void aggregators_step(struct aggregators *a, bool all, u64 now_ns)
{
	struct gather *g = a->gather;

	a->now_ns = now_ns;
	pulls_tick(&a->pulls, now_ns);
	bury(a);
	if (!aggregators_alive(a)) {
		gather_fetch_all(g);
		return;
	}
	if (!g->ready.nr)
		a->waits_ns = now_ns;
	vec_each(at, &a->peers) {
		bool is_set =
			g->ready.nr >= FLEET_TASK_NODES || all || now_ns - a->waits_ns > PART_NS;
		struct aggregator_peer *p = *at;
		if (g->ready.nr && is_set && !p->is_dead && p->nr_tasks < AGGREGATOR_TASKS)
			hand_out(a, p);
	}
}
