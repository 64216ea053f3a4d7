/* SPDX-License-Identifier: Apache-2.0 */
/* Results on credit. */
#include "fleet/controller/pull.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "fleet/wire/key.h"

#define RETRY_NS  (3 * NS_PER_SEC)
#define TRIES_MAX 5

void pulls_init(struct pulls *all, const struct pulls_host *host, const u8 *secret,
		const char *inbox)
{
	*all = (struct pulls){ .host = host };
	memcpy(all->secret, secret, sizeof(all->secret));
	copy_text(all->inbox, sizeof(all->inbox), inbox);
}

void pulls_fini(struct pulls *all)
{
	for (u32 i = 0; i < all->nr_open; i++)
		free(take(all->open[i]->bytes));
	vec_fini(&all->queue);
	explicit_bzero(all->secret, sizeof(all->secret));
}

void pulls_add(struct pulls *all, struct pull *p)
{
	vec_push(&all->queue, p);
}

/* The reply goes to a subject of its own: a node may reply to what it was asked only. */
static void ask(struct pulls *all, struct pull *p)
{
	struct fleet_message m = { .kind = MESSAGE_GET };
	auto_str struct str bytes = { 0 };
	char subject[128], reply[192];

	memcpy(m.get.id, p->id, sizeof(m.get.id));
	memcpy(m.get.secret, all->secret, sizeof(m.get.secret));
	m.get.instance = p->instance;
	m.get.offset = p->got;
	m.get.len = FLEET_CHUNK_MAX;
	message_encode(&m, &bytes);
	snprintf(subject, sizeof(subject), "sysflame.v1.node.%s.get", p->name);
	snprintf(reply, sizeof(reply), "%s.chunk.%s.%llu", all->inbox, p->name,
		 (unsigned long long)all->nr_asked++);
	p->asked_ns = all->now_ns;
	p->nr_asked++;
	all->host->publish(all->host->ctx, subject, reply, bytes.at, bytes.len);
}

static void begin_more(struct pulls *all)
{
	while (!all->is_paused && all->nr_open < PULL_WINDOW && all->next < all->queue.nr) {
		struct pull *p = all->queue.at[all->next++];
		all->open[all->nr_open++] = p;
		ask(all, p);
	}
	if (all->next == all->queue.nr)
		all->next = all->queue.nr = 0;
}

static void end(struct pulls *all, u32 i, const char *why)
{
	struct pull *p = all->open[i];

	all->open[i] = all->open[--all->nr_open];
	if (why)
		free(take(p->bytes));
	all->host->done(all->host->ctx, p, why);
}

static void take_data(struct pulls *all, u32 i, const struct fleet_chunk *c)
{
	struct pull *p = all->open[i];
	u8 sha256[FLEET_HASH_LEN];

	if (!c->len || c->len > p->size - p->got) {
		end(all, i, "It has no such result any more.");
		return;
	}
	if (!p->bytes)
		p->bytes = xmalloc(p->size);
	memcpy(p->bytes + p->got, c->data, c->len);
	p->got += c->len;
	p->nr_asked = 0;
	if (p->got < p->size) {
		ask(all, p);
		return;
	}
	digest(p->bytes, p->size, sha256);
	end(all, i,
	    memcmp(sha256, p->sha256, sizeof(sha256)) ? "Its result arrived damaged." : NULL);
}

void pulls_take(struct pulls *all, const struct fleet_chunk *c)
{
	for (u32 i = 0; i < all->nr_open; i++) {
		const struct pull *p = all->open[i];
		if (p->instance != c->instance || p->got != c->offset ||
		    memcmp(p->id, c->id, sizeof(p->id)) != 0 || strcmp(p->name, c->node) != 0)
			continue;
		all->nr_chunks++;
		take_data(all, i, c);
		begin_more(all);
		return;
	}
}

void pulls_tick(struct pulls *all, u64 now_ns)
{
	all->now_ns = now_ns;
	for (u32 i = all->nr_open; i-- > 0;) {
		struct pull *p = all->open[i];
		if (now_ns - p->asked_ns < RETRY_NS)
			continue;
		if (p->nr_asked < TRIES_MAX)
			ask(all, p);
		else
			end(all, i, "It did not hand out its result.");
	}
	begin_more(all);
}

void pulls_give_up(struct pulls *all, const char *why)
{
	while (all->next < all->queue.nr)
		all->host->done(all->host->ctx, all->queue.at[all->next++], why);
	while (all->nr_open)
		end(all, all->nr_open - 1, why);
}
