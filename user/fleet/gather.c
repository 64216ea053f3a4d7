/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's side of one request. */
#include "fleet/gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/auto.h"
#include "base/time.h"
#include "fleet/key.h"

#define RETRY_NS   (3 * NS_PER_SEC)
#define TRIES_MAX  5
#define NAME_BYTES 64

struct gather_names {
	char name[NAME_BYTES];
	struct gather_node *node;
	UT_hash_handle hh;
};

void gather_init(struct gather *g, const struct gather_host *host, const u8 *id, const u8 *secret,
		 const char *inbox)
{
	*g = (struct gather){ .host = host };
	memcpy(g->id, id, sizeof(g->id));
	memcpy(g->secret, secret, sizeof(g->secret));
	copy_text(g->inbox, sizeof(g->inbox), inbox);
}

void gather_fini(struct gather *g)
{
	struct gather_names *name, *next;

	HASH_ITER(hh, g->names, name, next) {
		HASH_DEL(g->names, name);
		free(name);
	}
	vec_each(n, &g->nodes) {
		free((*n)->bytes);
		free(*n);
	}
	vec_fini(&g->nodes);
}

static struct gather_node *find(const struct gather *g, const char *name)
{
	struct gather_names *found = NULL;

	HASH_FIND_STR(g->names, name, found);
	return found ? found->node : NULL;
}

static struct gather_node *add(struct gather *g, const char *name)
{
	struct gather_names *entry = xcalloc(1, sizeof(*entry));

	entry->node = xcalloc(1, sizeof(*entry->node));
	copy_text(entry->name, sizeof(entry->name), name);
	copy_text(entry->node->name, sizeof(entry->node->name), name);
	HASH_ADD_STR(g->names, name, entry);
	vec_push(&g->nodes, entry->node);
	return entry->node;
}

static void fail(struct gather_node *n, const char *why)
{
	n->state = GATHER_FAILED;
	n->verdict = VERDICT_FAILED;
	copy_text(n->why, sizeof(n->why), why);
	free(take(n->bytes));
}

static void take_answer(struct gather *g, const struct fleet_answer *a)
{
	struct gather_node *n = find(g, a->node);

	if (n) {
		g->nr_twins += n->instance != a->instance;
		return;
	}
	if (g->nodes.nr >= GATHER_NODES_MAX)
		return;
	n = add(g, a->node);
	n->instance = a->instance;
	n->verdict = a->verdict;
	n->state = a->verdict ? GATHER_REFUSED : GATHER_WORKS;
	n->nr_services = a->nr_services;
	n->nr_all_services = a->nr_all_services;
	n->nr_cpus = a->nr_cpus;
	n->nr_jvms = a->nr_jvms;
	memcpy(n->services, a->services, sizeof(n->services));
	copy_text(n->why, sizeof(n->why), a->why);
	copy_text(n->labels, sizeof(n->labels), a->labels);
	copy_text(n->version, sizeof(n->version), a->version);
}

static void take_done(struct gather *g, const struct fleet_done *d)
{
	struct gather_node *n = find(g, d->node);

	if (!n || n->instance != d->instance || n->state != GATHER_WORKS)
		return;
	n->samples = d->samples;
	n->lost = d->lost;
	n->profile = d->profile;
	n->verdict = d->verdict;
	copy_text(n->why, sizeof(n->why), d->why);
	if (d->verdict) {
		n->state = GATHER_FAILED;
		return;
	}
	n->state = GATHER_READY;
	n->size = d->size;
	memcpy(n->sha256, d->sha256, sizeof(n->sha256));
}

static void finish(struct gather *g, struct gather_node *n)
{
	u8 sha256[FLEET_HASH_LEN];

	digest(n->bytes, n->size, sha256);
	if (memcmp(sha256, n->sha256, sizeof(sha256)) != 0)
		fail(n, "Its result arrived damaged.");
	else if (g->host->deliver(g->host->ctx, n))
		fail(n, "Its result could not be kept.");
	else
		n->state = GATHER_DELIVERED;
	free(take(n->bytes));
}

static void take_chunk(struct gather *g, const struct fleet_chunk *c)
{
	struct gather_node *n = find(g, c->node);

	if (!n || n->instance != c->instance || n->state != GATHER_READY || !n->asked_ns ||
	    c->offset != n->got)
		return;
	g->nr_chunks++;
	if (!c->len || c->len > n->size - n->got) {
		fail(n, "It has no such result any more.");
		return;
	}
	if (!n->bytes)
		n->bytes = xmalloc(n->size);
	memcpy(n->bytes + n->got, c->data, c->len);
	n->got += c->len;
	n->asked_ns = 0;
	n->nr_asked = 0;
	if (n->got == n->size)
		finish(g, n);
}

void gather_message(struct gather *g, const void *bytes, size_t len)
{
	struct fleet_message m;

	if (message_decode(bytes, len, &m))
		return;
	if (m.kind == MESSAGE_ANSWER && !memcmp(m.answer.id, g->id, sizeof(g->id)))
		take_answer(g, &m.answer);
	else if (m.kind == MESSAGE_DONE && !memcmp(m.done.id, g->id, sizeof(g->id)))
		take_done(g, &m.done);
	else if (m.kind == MESSAGE_CHUNK && !memcmp(m.chunk.id, g->id, sizeof(g->id)))
		take_chunk(g, &m.chunk);
	message_fini(&m);
}

/* The reply goes to a subject of its own: a node may reply to what it was asked only. */
static void ask(struct gather *g, struct gather_node *n, u64 now_ns)
{
	struct fleet_message m = { .kind = MESSAGE_GET };
	auto_str struct str bytes = { 0 };
	char subject[96], reply[96];

	memcpy(m.get.id, g->id, sizeof(m.get.id));
	memcpy(m.get.secret, g->secret, sizeof(m.get.secret));
	m.get.instance = n->instance;
	m.get.offset = n->got;
	m.get.len = FLEET_CHUNK_MAX;
	message_encode(&m, &bytes);
	snprintf(subject, sizeof(subject), "sysflame.v1.node.%s.get", n->name);
	snprintf(reply, sizeof(reply), "%s.c%llu.%u", g->inbox, (unsigned long long)g->nr_chunks,
		 n->nr_asked);
	n->asked_ns = now_ns;
	n->nr_asked++;
	g->host->publish(g->host->ctx, subject, reply, bytes.at, bytes.len);
}

void gather_tick(struct gather *g, u64 now_ns)
{
	u32 nr_open = 0;

	for (size_t i = 0; i < g->nodes.nr; i++) {
		struct gather_node *n = g->nodes.at[i];
		if (n->state != GATHER_READY || !n->asked_ns)
			continue;
		nr_open++;
		if (now_ns - n->asked_ns < RETRY_NS)
			continue;
		if (n->nr_asked < TRIES_MAX)
			ask(g, n, now_ns);
		else
			fail(n, "It did not hand out its result.");
	}
	for (size_t i = 0; i < g->nodes.nr && nr_open < GATHER_WINDOW; i++) {
		struct gather_node *n = g->nodes.at[i];
		if (n->state != GATHER_READY || n->asked_ns)
			continue;
		ask(g, n, now_ns);
		nr_open++;
	}
}

size_t gather_count(const struct gather *g, enum gather_state state)
{
	size_t nr = 0;

	for (size_t i = 0; i < g->nodes.nr; i++)
		nr += g->nodes.at[i]->state == state;
	return nr;
}

void gather_give_up(struct gather *g)
{
	for (size_t i = 0; i < g->nodes.nr; i++) {
		struct gather_node *n = g->nodes.at[i];
		if (n->state == GATHER_WORKS)
			fail(n, "It accepted, and was not heard of again.");
		else if (n->state == GATHER_READY)
			fail(n, "Its result did not arrive in time.");
	}
}
