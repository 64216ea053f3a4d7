/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's view of the nodes. */
#include "fleet/controller/gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "fleet/wire/message.h"
#include "fleet/wire/selector.h"

#define LATE_MS 1000 /* of a recording's end */

/* Whether the subject is INBOX.KIND.NAME, or begins with that and a dot. NULL: any name. */
static bool is_from(const char *inbox, const char *subject, const char *kind, const char *name)
{
	size_t len = strlen(inbox), word = strlen(kind);
	const char *at = subject + len + 1;

	if (strncmp(subject, inbox, len) != 0 || subject[len] != '.' ||
	    strncmp(at, kind, word) != 0 || at[word] != '.')
		return false;
	at += word + 1;
	if (!name)
		return true;
	if (strncmp(at, name, strlen(name)) != 0)
		return false;
	at += strlen(name);
	return !*at || *at == '.';
}

/* Whether a message came on the subject of the node that it names. */
static bool inbox_is_right(const char *inbox, const char *subject, const struct fleet_message *m)
{
	switch (m->kind) {
	case MESSAGE_ANSWER:
		return is_from(inbox, subject, "answer", m->answer.node);
	case MESSAGE_DONE:
		return is_from(inbox, subject, "answer", m->done.node);
	case MESSAGE_CHUNK:
		return is_from(inbox, subject, "chunk", m->chunk.node);
	default:
		return false;
	}
}

/* The node's name in INBOX.answer.NAME; NULL: it is another subject. */
static const char *inbox_answerer(const char *inbox, const char *subject)
{
	size_t len = strlen(inbox) + strlen(".answer.");

	if (!is_from(inbox, subject, "answer", NULL))
		return NULL;
	return node_name_is_valid(subject + len) ? subject + len : NULL;
}

/* "N nodes WHAT: NAMES; CONSEQUENCE". NULL without nodes. */
static char *sentence(const struct node_names *n, const char *what, const char *consequence)
{
	auto_free char *names = node_names_text(n);

	return n->nr ? xasprintf("%zu node%s %s: %s; %s", n->nr, plural(n->nr), what, names,
				 consequence)
		     : NULL;
}

char *census_foreign_text(const struct gather *census)
{
	return sentence(&census->foreign,
			"answered in another version of the protocol and cannot take part",
			"update sysflame there, or here");
}

char *census_late_text(const struct gather *nodes)
{
	return sentence(&nodes->late, "came too late for the census and took no part",
			"estimates lack them; the next request counts them");
}

void census_text_report(const struct gather *census, void (*report)(void *ctx, const char *text),
			void *ctx)
{
	auto_free char *foreign = census_foreign_text(census);

	if (foreign)
		report(ctx, foreign);
}

struct node_name {
	UT_hash_handle hh;
	char name[];
};

static bool node_names_have(const struct node_names *n, const char *name)
{
	struct node_name *found;

	HASH_FIND_STR(n->all, name, found);
	return found;
}

void node_names_add(struct node_names *n, const char *name)
{
	size_t size = strlen(name) + 1;

	if (n->nr == GATHER_NODES_MAX || node_names_have(n, name))
		return;
	struct node_name *one = xcalloc(1, sizeof(*one) + size);
	memcpy(one->name, name, size);
	HASH_ADD_STR(n->all, name, one);
	n->nr++;
}

char *node_names_text(const struct node_names *n)
{
	struct str s = { 0 };
	size_t nr = 0;

	str_add(&s, "");
	for (const struct node_name *one = n->all; one && nr < NODE_NAMES_SHOWN; one = one->hh.next)
		str_addf(&s, "%s%s", nr++ ? ", " : "", one->name);
	if (n->nr > nr)
		str_addf(&s, " and %zu more", n->nr - nr);
	return str_take(&s);
}

void node_names_fini(struct node_names *n)
{
	struct node_name *one, *next;

	HASH_ITER(hh, n->all, one, next) {
		HASH_DEL(n->all, one);
		free(one);
	}
	n->nr = 0;
}

struct gather_names {
	struct gather_node *node; /* its name is the key */
	UT_hash_handle hh;
};

static void set_state(struct gather *g, struct gather_node *n, enum gather_state state)
{
	g->nr_in[n->state]--;
	g->nr_in[state]++;
	n->state = state;
}

static void set_text(char **field, const char *text)
{
	free(*field);
	*field = xstrdup(text);
}

static void fail(struct gather *g, struct gather_node *n, const char *why)
{
	set_state(g, n, GATHER_FAILED);
	n->verdict = VERDICT_FAILED;
	set_text(&n->why, why);
}

/* A pulls_host.done. */
static void pulled(void *ctx, struct pull *p, const char *why)
{
	struct gather *g = ctx;
	struct gather_node *n = p->owner;

	if (why)
		fail(g, n, why);
	else if (g->host->deliver(g->host->ctx, n))
		fail(g, n, "Its result could not be kept.");
	else
		set_state(g, n, GATHER_DELIVERED);
	free(take(n->pull.bytes));
}

static void publish(void *ctx, const char *subject, const char *reply, const void *bytes,
		    size_t len)
{
	struct gather *g = ctx;

	g->host->publish(g->host->ctx, subject, reply, bytes, len);
}

void gather_init(struct gather *g, const struct gather_host *host, const u8 *id, const u8 *secret,
		 const char *inbox)
{
	*g = (struct gather){ .host = host,
			      .pulls_host = { g, publish, pulled },
			      .sampling.to_rank = UINT32_MAX };
	pulls_init(&g->pulls, &g->pulls_host, secret, inbox);
	memcpy(g->id, id, sizeof(g->id));
}

static void node_free(struct gather_node *n)
{
	free(n->why);
	free(n->labels);
	free(n->version);
	free(n->kernel);
	free(n->services);
	free(n->url);
	free(n->runs);
	free(n);
}

void gather_fini(struct gather *g)
{
	struct gather_names *name, *next;

	HASH_ITER(hh, g->names, name, next) {
		HASH_DEL(g->names, name);
		free(name);
	}
	pulls_fini(&g->pulls);
	node_names_fini(&g->foreign);
	node_names_fini(&g->seen);
	node_names_fini(&g->late);
	vec_each(n, &g->nodes)
		node_free(*n);
	vec_fini(&g->nodes);
}

struct gather_node *gather_find(const struct gather *g, const char *name)
{
	struct gather_names *found = NULL;

	HASH_FIND_STR(g->names, name, found);
	return found ? found->node : NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct gather_node *const *)a)->name,
		      (*(struct gather_node *const *)b)->name);
}

struct gather_node **gather_by_name(const struct gather *g)
{
	struct gather_node **all = xcalloc(g->nodes.nr + 1, sizeof(all[0]));

	for (size_t i = 0; i < g->nodes.nr; i++)
		all[i] = g->nodes.at[i];
	qsort(all, g->nodes.nr, sizeof(all[0]), by_name);
	return all;
}

static struct gather_node *add(struct gather *g, const char *name)
{
	struct gather_names *entry = xcalloc(1, sizeof(*entry));
	struct gather_node *n = entry->node = xcalloc(1, sizeof(*n));

	copy_text(n->name, sizeof(n->name), name);
	HASH_ADD_KEYPTR(hh, g->names, n->name, strlen(n->name), entry);
	vec_push(&g->nodes, n);
	g->nr_in[n->state]++;
	return n;
}

static char *services_text(const struct fleet_answer *a)
{
	struct str s = { 0 };

	str_add(&s, "");
	for (u32 i = 0; i < a->nr_services; i++)
		str_addf(&s, "%s%s", i ? "\n" : "", a->services[i]);
	return str_take(&s);
}

static char *runs_text(const struct fleet_answer *a)
{
	struct str s = { 0 };

	str_add(&s, "");
	for (u32 i = 0; i < FLEET_RUNS; i++)
		if (*a->runs[i])
			str_addf(&s, "%s\n", a->runs[i]);
	return str_take(&s);
}

/* The CPU use from the census, because a node that refuses at once does not report it. */
static u64 busy_of(const struct gather *g, const struct fleet_answer *a)
{
	const struct gather_node *n = g->census ? gather_find(g->census, a->node) : NULL;

	return a->busy_ppm ?: n ? n->busy_ppm : 0;
}

/* Its refusal counts. */
static bool is_chosen(const struct gather *g, const char *name, u64 busy_ppm)
{
	struct sampling all_waves = g->sampling;

	all_waves.from_rank = 0;
	return sampling_takes(&all_waves, name, busy_ppm);
}

static bool is_silent(const struct gather *census, const char *name)
{
	return !gather_find(census, name) && !node_names_have(&census->foreign, name);
}

char *census_silent_text(const struct gather *census)
{
	struct node_names silent = { 0 };

	for (const struct node_name *n = census->seen.all; n; n = n->hh.next)
		if (is_silent(census, n->name))
			node_names_add(&silent, n->name);
	char *text = sentence(&silent, "seen before did not answer",
			      "estimates may lack them; sysflame fleet ls lists them");
	node_names_fini(&silent);
	return text;
}

bool census_is_complete(const struct gather *census)
{
	for (const struct node_name *n = census->seen.all; n; n = n->hh.next)
		if (is_silent(census, n->name))
			return false;
	return census->seen.nr;
}

char *census_unanswered_text(const struct gather *nodes)
{
	struct node_names silent = { 0 };

	vec_each(n, &nodes->census->nodes)
		if ((*n)->verdict != VERDICT_NO_MATCH && !gather_find(nodes, (*n)->name) &&
		    is_chosen(nodes, (*n)->name, (*n)->busy_ppm))
			node_names_add(&silent, (*n)->name);
	char *text = sentence(&silent, "did not answer the request in time", "--wait waits longer");
	node_names_fini(&silent);
	return text;
}

char *census_names(const struct gather *nodes)
{
	struct str s = { 0 };

	str_add(&s, "");
	vec_each(n, &nodes->census->nodes)
		str_addf(&s, "%s\n", (*n)->name);
	for (const struct node_name *n = nodes->late.all; n; n = n->hh.next)
		if (!gather_find(nodes->census, n->name))
			str_addf(&s, "%s\n", n->name);
	return str_take(&s);
}

/*
 * Whether the label `node` names another node. Samples and coverage are shown by that label, so
 * such an answer is ignored.
 */
static bool names_another(const struct fleet_answer *a)
{
	char name[sizeof(a->labels)];

	return labels_find(a->labels, "node", name, sizeof(name)) && strcmp(name, a->node) != 0;
}

/* A node that refuses a request at once has compared neither its labels nor its sampling hash. */
static enum verdict verdict_of(const struct gather *g, const struct fleet_answer *a)
{
	auto_str struct str why = { 0 };
	struct selector s;

	if (!a->verdict || !g->selector || selector_parse(g->selector, &s, &why))
		return a->verdict;
	return selector_admits(&s, a->labels) && is_chosen(g, a->node, busy_of(g, a))
		       ? a->verdict
		       : VERDICT_NO_MATCH;
}

/* Numbers and estimates are based on the nodes of the census. */
static bool is_late(const struct gather *g, const char *name)
{
	const struct gather_node *n = g->census ? gather_find(g->census, name) : NULL;

	return g->census && (!n || n->verdict == VERDICT_NO_MATCH);
}

/* Counts a late node. Answers that are still expected may arrive after it. */
static void add_late(struct gather *g, const char *name)
{
	size_t before = g->late.nr;

	node_names_add(&g->late, name);
	g->nr_answers += g->late.nr - before;
}

static void leave_out(struct gather *g, const struct fleet_answer *a)
{
	add_late(g, a->node);
	if (!a->verdict)
		g->host->stop(g->host->ctx, a->node);
}

/* Takes an answer to the census that arrives after its end. */
static void take_late(struct gather *g, const struct fleet_answer *a)
{
	if (!gather_find(g->census, a->node) && verdict_of(g, a) != VERDICT_NO_MATCH)
		add_late(g, a->node);
}

static void take_answer(struct gather *g, const struct fleet_answer *a)
{
	struct gather_node *n = gather_find(g, a->node);
	struct gather_node *known = g->census ? gather_find(g->census, a->node) : NULL;
	enum verdict verdict = verdict_of(g, a);

	if (n) {
		n->has_twin |= n->instance != a->instance;
		g->nr_twins += n->instance != a->instance;
		return;
	}
	if (known && !known->has_answered) {
		known->has_answered = true;
		g->nr_answers++;
	}
	if (g->nodes.nr >= GATHER_NODES_MAX || (g->skips_others && verdict == VERDICT_NO_MATCH))
		return;
	if (is_late(g, a->node)) {
		leave_out(g, a);
		return;
	}
	n = add(g, a->node);
	g->nr_answers++;
	n->instance = a->instance;
	n->verdict = verdict;
	n->nr_cpus = a->nr_cpus;
	n->nr_jvms = a->nr_jvms;
	n->busy_ppm = busy_of(g, a);
	n->policy_ms = a->policy_ms;
	n->why = xstrdup(a->why);
	n->labels = xstrdup(a->labels);
	n->version = xstrdup(a->version);
	n->kernel = xstrdup(a->kernel);
	n->services = services_text(a);
	n->nr_services = a->nr_all_services;
	n->url = xstrdup(a->url);
	n->runs = runs_text(a);
	set_state(g, n, a->verdict ? GATHER_REFUSED : GATHER_WORKS);
}

/*
 * A node may send DONE again, to add JVMs that crashed. A node that has restarted is another
 * instance, and says that it has no result. `result` NULL: it is to be fetched.
 */
static void take_done(struct gather *g, const struct fleet_done *d, const void *result)
{
	struct gather_node *n = gather_find(g, d->node);

	if (!n || (n->instance != d->instance && (n->has_twin || !d->verdict)))
		return;
	g->nr_answers += n->state == GATHER_WORKS || d->nr_died > n->nr_died;
	n->nr_died = d->nr_died > n->nr_died ? d->nr_died : n->nr_died;
	if (n->state != GATHER_WORKS)
		return;
	n->samples = d->samples;
	n->lost = d->lost;
	n->profile = d->profile;
	n->covered_ms = d->covered_ms;
	n->verdict = d->verdict;
	set_text(&n->why, d->why);
	if (d->verdict) {
		set_state(g, n, GATHER_FAILED);
		return;
	}
	n->pull = (struct pull){ .instance = n->instance, .size = d->size, .owner = n };
	memcpy(n->pull.id, d->id, sizeof(n->pull.id));
	memcpy(n->pull.sha256, d->sha256, sizeof(n->pull.sha256));
	copy_text(n->pull.name, sizeof(n->pull.name), n->name);
	set_state(g, n, GATHER_READY);
	if (!result) {
		pulls_add(&g->pulls, &n->pull);
		return;
	}
	n->pull.bytes = xmemdup(result, d->size);
	pulled(g, &n->pull, NULL);
}

void gather_take_direct(struct gather *g, const struct fleet_message *m, const void *result)
{
	if (m->kind == MESSAGE_ANSWER && !memcmp(m->answer.id, g->id, sizeof(g->id)))
		take_answer(g, &m->answer);
	else if (m->kind == MESSAGE_ANSWER && g->census &&
		 !memcmp(m->answer.id, g->census->id, sizeof(g->id)))
		take_late(g, &m->answer);
	else if (m->kind == MESSAGE_DONE && !memcmp(m->done.id, g->id, sizeof(g->id)))
		take_done(g, &m->done, result);
}

void gather_take(struct gather *g, const char *subject, const struct fleet_message *m)
{
	if (!inbox_is_right(g->pulls.inbox, subject, m) ||
	    (m->kind == MESSAGE_ANSWER && names_another(&m->answer))) {
		g->nr_strange++;
		return;
	}
	struct gather_node *n = m->kind == MESSAGE_CHUNK ? gather_find(g, m->chunk.node) : NULL;
	if (n)
		pulls_take(&g->pulls, &n->pull, subject, &m->chunk);
	else
		gather_take_direct(g, m, NULL);
}

const struct gather_node *gather_refuses_key(const struct gather *g)
{
	const struct gather_node *first = NULL;

	vec_each(n, &g->nodes) {
		if ((*n)->verdict == VERDICT_NO_MATCH)
			continue;
		if ((*n)->verdict != VERDICT_SIGNATURE)
			return NULL;
		first = first ?: *n;
	}
	return first;
}

void gather_take_foreign(struct gather *g, const char *subject)
{
	const char *name = inbox_answerer(g->pulls.inbox, subject);

	if (name)
		node_names_add(&g->foreign, name);
}

void gather_take_seen(struct gather *g, const char *name)
{
	if (node_name_is_valid(name))
		node_names_add(&g->seen, name);
}

void gather_tick(struct gather *g, u64 now_ns)
{
	pulls_tick(&g->pulls, now_ns);
}

void gather_remind(struct gather *g)
{
	struct fleet_message m = { .kind = MESSAGE_ALIVE };
	auto_free char *reply = xasprintf("%s.answer", g->pulls.inbox);
	auto_str struct str bytes = { 0 };

	memcpy(m.alive.id, g->id, sizeof(m.alive.id));
	message_encode(&m, &bytes);
	vec_each(n, &g->nodes) {
		if ((*n)->state != GATHER_WORKS)
			continue;
		auto_free char *subject = xasprintf("sysflame.v1.node.%s.get", (*n)->name);
		publish(g, subject, reply, bytes.at, bytes.len);
	}
}

void gather_stop(struct gather *g)
{
	vec_each(n, &g->nodes)
		if ((*n)->state == GATHER_WORKS)
			g->host->stop(g->host->ctx, (*n)->name);
}

size_t gather_count(const struct gather *g, enum gather_state state)
{
	return g->nr_in[state];
}

/* A recording may end a little late. Old slices may cover much more than was asked for. */
static bool is_about(u64 covered_ms, u64 asked_ms)
{
	return covered_ms >= asked_ms && covered_ms - asked_ms <= LATE_MS + asked_ms / 50;
}

u64 gather_weight_ppm(const struct gather *g, const struct gather_node *n)
{
	if (!n->covered_ms || !g->asked_ms || is_about(n->covered_ms, g->asked_ms))
		return 1000000;
	u64 weight = g->asked_ms * 1000000 / n->covered_ms ?: 1;
	return weight < FLEET_WEIGHT_MAX ? weight : FLEET_WEIGHT_MAX;
}

static struct fleet_message answer_of(const struct gather_node *n, const u8 *id)
{
	struct fleet_message m = { .kind = MESSAGE_ANSWER };
	struct fleet_answer *a = &m.answer;

	memcpy(a->id, id, sizeof(a->id));
	copy_text(a->node, sizeof(a->node), n->name);
	copy_text(a->labels, sizeof(a->labels), n->labels);
	copy_text(a->version, sizeof(a->version), n->version);
	copy_text(a->kernel, sizeof(a->kernel), n->kernel);
	a->instance = n->instance;
	a->verdict = n->verdict;
	a->nr_cpus = n->nr_cpus;
	a->nr_jvms = n->nr_jvms;
	a->busy_ppm = n->busy_ppm;
	return m;
}

void gather_save(const struct gather *g, struct str *out)
{
	vec_each(n, &g->nodes) {
		auto_str struct str bytes = { 0 };
		const struct fleet_message m = answer_of(*n, g->id);
		message_encode(&m, &bytes);
		const u32 len = (u32)bytes.len;
		str_add_bytes(out, &len, sizeof(len));
		str_add_bytes(out, bytes.at, bytes.len);
	}
}

void gather_spoiled(struct gather *g, struct gather_node *n, const char *why)
{
	if (n->state == GATHER_DELIVERED)
		fail(g, n, why);
}

void gather_give_up(struct gather *g)
{
	pulls_give_up(&g->pulls, "Its result did not arrive in time.");
	vec_each(at, &g->nodes) {
		struct gather_node *n = *at;
		if (n->state == GATHER_WORKS)
			fail(g, n, "It accepted, and was not heard of again.");
	}
}
