/* SPDX-License-Identifier: Apache-2.0 */
/* Results on credit. */
#include "fleet/controller/pull.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "fleet/wire/key.h"

#define WINDOW_LEAST 4
/* a chunk that took longer has waited in queues: the window does not grow */
#define QUEUED_NS (2 * NS_PER_SEC)
#define RETRY_NS  (3 * NS_PER_SEC) /* and twice the time that chunks take */
#define RETRIES   5                /* without any chunk */
/* most overdue results that keep their bytes; further ones start again, which bounds the memory */
#define HELD_MAX 64

void pulls_init(struct pulls *all, const struct pulls_host *host, const u8 *secret,
		const char *inbox)
{
	*all = (struct pulls){ .host = host,
			       .window = WINDOW_LEAST,
			       .threshold = PULL_WINDOW,
			       .least_ns = UINT64_MAX };
	memcpy(all->secret, secret, sizeof(all->secret));
	copy_text(all->inbox, sizeof(all->inbox), inbox);
}

void pulls_fini(struct pulls *all)
{
	vec_each(p, &all->open)
		free(take((*p)->bytes));
	vec_fini(&all->open);
	vec_fini(&all->queue);
	explicit_bzero(all->secret, sizeof(all->secret));
}

void pulls_add(struct pulls *all, struct pull *p)
{
	vec_push(&all->queue, p);
}

static u64 retry_ns(const struct pulls *all, const struct pull *p)
{
	return RETRY_NS + 2 * (p->took_ns > all->took_ns ? p->took_ns : all->took_ns);
}

/*
 * Asks for the next chunk. Each result has its own reply subject, to which only the asked node may
 * publish.
 */
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
	p->number = all->nr_asked++;
	p->asked_ns = all->now_ns;
	snprintf(subject, sizeof(subject), "sysflame.v1.node.%s.get", p->name);
	snprintf(reply, sizeof(reply), "%s.chunk.%s.%llu", all->inbox, p->name,
		 (unsigned long long)p->number);
	all->host->publish(all->host->ctx, subject, reply, bytes.at, bytes.len);
}

static void ask_next(struct pulls *all, struct pull *p)
{
	all->nr_overdue -= p->is_overdue;
	p->is_overdue = false;
	p->first_ns = all->now_ns;
	ask(all, p);
}

static void begin_more(struct pulls *all)
{
	while (!all->is_paused && all->open.nr - all->nr_overdue < all->window &&
	       all->next < all->queue.nr) {
		struct pull *p = all->queue.at[all->next++];
		p->place = all->open.nr;
		vec_push(&all->open, p);
		ask_next(all, p);
	}
	if (all->next == all->queue.nr)
		all->next = all->queue.nr = 0;
}

static void end(struct pulls *all, struct pull *p, const char *why)
{
	struct pull *last = all->open.at[--all->open.nr];

	last->place = p->place;
	all->open.at[last->place] = last;
	all->nr_overdue -= p->is_overdue;
	if (why)
		free(take(p->bytes));
	all->host->done(all->host->ctx, p, why);
}

/*
 * Grows the window as TCP does: at first by one for each chunk; after the first overdue chunk by
 * one for each window.
 */
static void grow(struct pulls *all, u64 took_ns)
{
	if (took_ns < all->least_ns)
		all->least_ns = took_ns;
	all->took_ns -= all->took_ns / 16;
	if (took_ns > all->took_ns)
		all->took_ns = took_ns;
	all->credit += all->window < all->threshold ? all->window : 1;
	if (all->credit < all->window || all->window == PULL_WINDOW ||
	    took_ns - all->least_ns > QUEUED_NS)
		return;
	all->credit = 0;
	all->window++;
}

/* Chunks that are on their way together are overdue together. */
static void shrink(struct pulls *all, u64 every_ns)
{
	if (all->shrunk_ns && all->now_ns - all->shrunk_ns < every_ns)
		return;
	all->shrunk_ns = all->now_ns;
	all->threshold = all->window / 2;
	all->window = all->threshold < WINDOW_LEAST ? WINDOW_LEAST : all->threshold;
}

static void take_data(struct pulls *all, struct pull *p, const struct fleet_chunk *c)
{
	u64 left = p->size - p->got;
	u8 sha256[FLEET_HASH_LEN];

	if (!c->len) {
		end(all, p, "It has no such result any more.");
		return;
	}
	if (c->len != (left < FLEET_CHUNK_MAX ? left : FLEET_CHUNK_MAX)) {
		end(all, p, "It handed out another part of its result than was asked for.");
		return;
	}
	if (!p->bytes)
		p->bytes = xmalloc(p->size);
	memcpy(p->bytes + p->got, c->data, c->len);
	p->got += c->len;
	if (p->got < p->size) {
		ask_next(all, p);
		return;
	}
	digest(p->bytes, p->size, sha256);
	end(all, p,
	    memcmp(sha256, p->sha256, sizeof(sha256)) ? "Its result arrived damaged." : NULL);
}

void pulls_take(struct pulls *all, struct pull *p, const char *subject, const struct fleet_chunk *c)
{
	const char *number = strrchr(subject, '.');

	if (p->place >= all->open.nr || all->open.at[p->place] != p || p->instance != c->instance ||
	    p->got != c->offset || memcmp(p->id, c->id, sizeof(p->id)) != 0)
		return;
	bool is_last = number && strtoull(number + 1, NULL, 10) == p->number;
	u64 took_ns = all->now_ns - (is_last ? p->asked_ns : p->first_ns);
	if (took_ns > p->took_ns)
		p->took_ns = took_ns;
	all->nr_chunks++;
	all->arrived_ns = all->now_ns;
	grow(all, took_ns);
	take_data(all, p, c);
	begin_more(all);
}

static void ask_again(struct pulls *all, struct pull *p)
{
	u64 every_ns = retry_ns(all, p);
	u64 heard_ns = all->arrived_ns > p->first_ns ? all->arrived_ns : p->first_ns;

	if (all->now_ns - p->asked_ns < every_ns)
		return;
	if (all->now_ns - heard_ns >= RETRIES * every_ns) {
		end(all, p, "It did not hand out its result.");
		return;
	}
	if (!p->is_overdue)
		shrink(all, every_ns);
	all->nr_overdue += !p->is_overdue;
	p->is_overdue = true;
	if (p->bytes && all->nr_overdue > HELD_MAX) {
		free(take(p->bytes));
		p->got = 0;
	}
	ask(all, p);
}

void pulls_tick(struct pulls *all, u64 now_ns)
{
	all->now_ns = now_ns;
	if (all->is_paused)
		all->arrived_ns = now_ns;
	for (size_t i = all->open.nr; i-- > 0;)
		ask_again(all, all->open.at[i]);
	begin_more(all);
}

void pulls_give_up(struct pulls *all, const char *why)
{
	while (all->next < all->queue.nr)
		all->host->done(all->host->ctx, all->queue.at[all->next++], why);
	while (all->open.nr)
		end(all, all->open.at[all->open.nr - 1], why);
}
