/* SPDX-License-Identifier: Apache-2.0 */
/* A fleet without NATS. */
#include "fleet/http_fleet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "fleet/coin.h"
#include "fleet/http_node.h"

#define TICK_NS (100 * NS_PER_MS)

struct http_fleet {
	struct fetcher *fetcher;
	struct http_node *nodes;
	u32 nr_nodes;
	u64 ticked_ns;
	u8 key[FLEET_KEY_LEN];
	struct http_letters letters;
};

int http_fleet_start(const struct http_entries *nodes, const u8 *public_key, u32 wait_s,
		     struct http_fleet **out)
{
	struct http_fleet *f = xcalloc(1, sizeof(*f));
	int err = fetcher_start(nodes, &f->fetcher);

	if (err) {
		free(f);
		return err;
	}
	memcpy(f->key, public_key, sizeof(f->key));
	f->nr_nodes = (u32)nodes->all.nr;
	f->nodes = xcalloc(f->nr_nodes, sizeof(f->nodes[0]));
	for (u32 i = 0; i < f->nr_nodes; i++) {
		const struct http_entry *e = &nodes->all.at[i];
		struct http_node *n = &f->nodes[i];
		n->fetcher = f->fetcher;
		n->letters = &f->letters;
		n->index = i;
		copy_text(n->name, sizeof(n->name), e->name);
		snprintf(n->labels, sizeof(n->labels), "node=%s%s%s", e->name,
			 *e->labels ? "," : "", e->labels);
		http_node_meet(n, wait_s);
	}
	*out = f;
	return 0;
}

void http_fleet_free(struct http_fleet *f)
{
	if (!f)
		return;
	fetcher_free(f->fetcher);
	for (u32 i = 0; i < f->nr_nodes; i++)
		http_node_fini(&f->nodes[i]);
	free(f->nodes);
	vec_each(l, &f->letters.all) {
		free(l->subject);
		free(l->bytes);
	}
	vec_fini(&f->letters.all);
	free(f);
}

int http_fleet_fd(const struct http_fleet *f)
{
	return fetcher_fd(f->fetcher);
}

bool http_fleet_is_ready(const struct http_fleet *f)
{
	for (u32 i = 0; i < f->nr_nodes; i++)
		if (!f->nodes[i].is_ready)
			return false;
	return true;
}

/* Its member could not be made: somebody else answers for it, so that the coverage has it. */
static void answer_for(struct http_node *n, const char *reply, const void *bytes, size_t len)
{
	struct fleet_message m, out = { .kind = MESSAGE_ANSWER };
	struct fleet_answer *a = &out.answer;
	auto_str struct str packed = { 0 }, why = { 0 };
	struct fleet_request r;
	struct selector s;

	if (message_decode(bytes, len, &m))
		return;
	bool is_request = m.kind == MESSAGE_SIGNED &&
			  !request_decode(m.sealed.request, m.sealed.len, &r) &&
			  !selector_parse(r.selector, &s, &why);
	message_fini(&m);
	if (!is_request)
		return;
	memcpy(a->id, r.id, sizeof(a->id));
	copy_text(a->node, sizeof(a->node), n->name);
	copy_text(a->labels, sizeof(a->labels), n->labels);
	a->instance = n->index + 1;
	bool matches = selector_admits(&s, n->labels) &&
		       (r.want == WANT_CENSUS || coin_takes(&r, n->name));
	a->verdict = matches ? VERDICT_FAILED : VERDICT_NO_MATCH;
	copy_text(a->why, sizeof(a->why), matches ? n->why : "The node's labels do not match.");
	message_encode(&out, &packed);
	auto_free char *subject = xasprintf("%s.%s", reply, n->name);
	http_say(n, subject, packed.at, packed.len);
}

static bool is_for(const struct http_node *n, const char *subject)
{
	static const char prefix[] = "sysflame.v1.node.";
	size_t len = strlen(n->name);

	if (!strcmp(subject, "sysflame.v1.req.all") || !strcmp(subject, "sysflame.v1.ctl"))
		return true;
	return !strncmp(subject, prefix, strlen(prefix)) &&
	       !strncmp(subject + strlen(prefix), n->name, len) &&
	       !strcmp(subject + strlen(prefix) + len, ".get");
}

/* The key is not on the wire: it exists as long as this process. */
static void give_key(struct http_fleet *f, struct http_node *n)
{
	struct fleet_key key = { .role = FLEET_OPERATOR, .person = "http" };
	struct fleet_keys keys = { 0 };

	memcpy(key.key, f->key, sizeof(key.key));
	vec_push(&keys.all, key);
	member_set_keys(n->member, &keys);
}

void http_fleet_publish(struct http_fleet *f, const char *subject, const char *reply,
			const void *bytes, size_t len)
{
	for (u32 i = 0; i < f->nr_nodes; i++) {
		struct http_node *n = &f->nodes[i];
		if (!is_for(n, subject))
			continue;
		if (n->member) {
			give_key(f, n);
			member_message(n->member, reply, bytes, len);
		} else {
			answer_for(n, reply, bytes, len);
		}
	}
}

void http_fleet_step(struct http_fleet *f, http_message_fn hand, void *ctx)
{
	u64 now = time_mono_ns();
	size_t nr;

	fetcher_step(f->fetcher);
	for (u32 i = 0; now - f->ticked_ns >= TICK_NS && i < f->nr_nodes; i++) {
		http_errands_tick(&f->nodes[i], now);
		if (f->nodes[i].member)
			member_tick(f->nodes[i].member);
	}
	f->ticked_ns = now - f->ticked_ns >= TICK_NS ? now : f->ticked_ns;
	nr = f->letters.all.nr;
	for (size_t i = 0; i < nr; i++) {
		struct http_letter l = f->letters.all.at[i];
		hand(ctx, l.subject, l.bytes, l.len);
		free(l.subject);
		free(l.bytes);
	}
	if (nr)
		memmove(f->letters.all.at, f->letters.all.at + nr,
			(f->letters.all.nr - nr) * sizeof(f->letters.all.at[0]));
	f->letters.all.nr -= nr;
}
