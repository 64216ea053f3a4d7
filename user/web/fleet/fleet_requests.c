/* SPDX-License-Identifier: Apache-2.0 */
/* The requests to a fleet that people start on its page. */
#include "web/fleet/fleet_requests.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "fleet/controller/controller.h"
#include "fleet/controller/coverage.h"
#include "fleet/controller/gather.h"
#include "fleet/wire/bus.h"
#include "fleet/wire/key.h"
#include "fleet/wire/link.h"
#include "web/fleet/fleet_connection.h"
#include "web/fleet/fleet_history.h"
#include "web/fleet/fleet_overview.h"
#include "web/recordings/keeping.h"
#include "web/recordings/service.h"

#define MESSAGES_MAX 256               /* before others get their turn */
#define KEPT_MAX     20                /* requests in the list; the profiles of others are stored */
#define CENSUS_NS    (15 * NS_PER_SEC) /* between two, while somebody looks */
#define WATCHED_NS   (3 * NS_PER_SEC)  /* since somebody looked */
#define ANSWERS_MS   2000

#define FLEET_JSON_NODES 200  /* of a request; the heaviest */
#define FLEET_JSON_LIST  1000 /* nodes and services of a census */

static const char *const phases[] = {
	[CONTROLLER_CENSUS] = "census",   [CONTROLLER_CHOICE] = "census",
	[CONTROLLER_RECORDS] = "records", [CONTROLLER_WATCHES] = "watches",
	[CONTROLLER_FETCHES] = "fetches", [CONTROLLER_MERGES] = "merges",
	[CONTROLLER_ENDED] = "ended",
};

static const char *const states[NR_GATHER_STATES] = {
	[GATHER_REFUSED] = "refused",     [GATHER_WORKS] = "works",   [GATHER_READY] = "ready",
	[GATHER_DELIVERED] = "delivered", [GATHER_FAILED] = "failed",
};

/* A node with the value of its result. */
struct row {
	const struct gather_node *node;
	u64 value;
};

static int heaviest_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->value != y->value)
		return (x->value < y->value) - (x->value > y->value);
	return strcmp(x->node->name, y->node->name);
}

/* The caller frees the rows. */
static struct row *sort_nodes(const struct controller_state *s, u64 *total)
{
	const struct gather *g = s->nodes;
	struct row *rows = xcalloc(g->nodes.nr + 1, sizeof(rows[0]));
	struct value {
		const char *node;
		u64 value;
		UT_hash_handle hh;
	} *values = NULL, *all = xcalloc(s->nr_totals + 1, sizeof(all[0])), *found;

	*total = 0;
	for (size_t i = 0; i < s->nr_totals; i++) {
		all[i].node = s->totals[i].node;
		all[i].value = s->totals[i].err ? 0 : s->totals[i].raw;
		*total += all[i].value;
		HASH_ADD_KEYPTR(hh, values, all[i].node, strlen(all[i].node), &all[i]);
	}
	for (size_t i = 0; i < g->nodes.nr; i++) {
		rows[i].node = g->nodes.at[i];
		HASH_FIND_STR(values, rows[i].node->name, found);
		rows[i].value = found ? found->value : 0;
	}
	HASH_CLEAR(hh, values);
	free(all);
	qsort(rows, g->nodes.nr, sizeof(rows[0]), heaviest_first);
	return rows;
}

static json_t *node_json(const struct row *r)
{
	const struct gather_node *n = r->node;
	const char *labels = strchr(n->labels, ',');

	return json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:i}", "name", n->name, "state",
			 states[n->state], "verdict", n->verdict ? verdict_name(n->verdict) : "",
			 "why", n->why, "labels", labels ? labels + 1 : "", "url", n->url, "value",
			 (json_int_t)r->value, "samples", (json_int_t)n->samples, "lost",
			 (json_int_t)n->lost, "profile", (json_int_t)n->profile, "died",
			 (int)n->nr_died);
}

static json_t *estimate_json(const struct controller_state *s)
{
	if (!s->is_estimate || s->phase != CONTROLLER_ENDED || s->error)
		return json_null();
	struct estimate e = coverage_estimate(s);
	auto_free char *doubt = coverage_doubt(s, &e);
	return json_pack("{s:f,s:f,s:f,s:b,s:s,s:f}", "total", e.total, "low", e.low, "high",
			 e.high, "has_interval", e.has_interval, "doubt", doubt ?: "", "p", s->p);
}

static json_t *counts_json(const struct controller_state *s)
{
	size_t heard = s->nodes->nodes.nr;
	u32 c[NR_GATHER_STATES];

	for (int i = 0; i < NR_GATHER_STATES; i++)
		c[i] = (u32)gather_count(s->nodes, (enum gather_state)i);
	return json_pack("{s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i}", "answered", (int)s->nr_census,
			 "matched", (int)s->nr_matched, "chosen", (int)s->nr_chosen, "accepted",
			 (int)(heard - c[GATHER_REFUSED]), "works", (int)c[GATHER_WORKS], "ready",
			 (int)c[GATHER_READY], "delivered", (int)c[GATHER_DELIVERED], "refused",
			 (int)c[GATHER_REFUSED], "failed", (int)c[GATHER_FAILED]);
}

/* Phase, coverage, estimate and nodes of a request. */
static json_t *fleet_json_request(const struct controller *c)
{
	const struct controller_state s = controller_view(c);
	json_t *nodes = json_array();
	u64 total = 0;
	auto_free struct row *rows = sort_nodes(&s, &total);

	for (size_t i = 0; i < s.nodes->nodes.nr && i < FLEET_JSON_NODES; i++)
		json_array_append_new(nodes, node_json(&rows[i]));
	return json_pack("{s:s,s:i,s:i,s:o,s:o,s:s,s:s,s:I,s:i,s:o}", "phase", phases[s.phase],
			 "wave", (int)s.wave + 1, "nr_waves", (int)s.nr_waves, "counts",
			 counts_json(&s), "estimate", estimate_json(&s), "stopped", s.stopped ?: "",
			 "error", s.error ?: "", "total", (json_int_t)total, "nr_nodes",
			 (int)s.nodes->nodes.nr, "nodes", nodes);
}

struct service_count {
	char *name;
	u32 nr;
	UT_hash_handle hh;
};

static void count_service(struct service_count **all, const char *name, size_t len)
{
	struct service_count *s;

	HASH_FIND(hh, *all, name, len, s);
	if (!s) {
		s = xcalloc(1, sizeof(*s));
		s->name = xasprintf("%.*s", (int)len, name);
		HASH_ADD_KEYPTR(hh, *all, s->name, len, s);
	}
	s->nr++;
}

static int most_first(struct service_count *a, struct service_count *b)
{
	return a->nr != b->nr ? (a->nr < b->nr) - (a->nr > b->nr) : strcmp(a->name, b->name);
}

static json_t *services_json(const struct gather *g)
{
	struct service_count *all = NULL, *s, *next;
	json_t *list = json_array();

	vec_each(n, &g->nodes)
		for (const char *at = (*n)->services; *at;) {
			size_t len = strcspn(at, "\n");
			count_service(&all, at, len);
			at += len + (at[len] != '\0');
		}
	HASH_SORT(all, most_first);
	HASH_ITER(hh, all, s, next) {
		if (json_array_size(list) < FLEET_JSON_LIST)
			json_array_append_new(
				list, json_pack("{s:s,s:i}", "name", s->name, "nodes", (int)s->nr));
		HASH_DEL(all, s);
		free(s->name);
		free(s);
	}
	return list;
}

/* The number of nodes with each label: {"zone=a": 12, ..}. */
static json_t *label_counts_json(const struct gather *g)
{
	json_t *counts = json_object();

	vec_each(n, &g->nodes) {
		const char *first = strchr((*n)->labels, ',');
		auto_free char *labels = xstrdup(first ? first + 1 : "");
		char *rest = labels;
		for (char *label; (label = strsep(&rest, ","));) {
			json_t *count = json_object_get(counts, label);
			if (*label && (count || json_object_size(counts) < FLEET_JSON_LIST))
				json_object_set_new(counts, label,
						    json_integer(json_integer_value(count) + 1));
		}
	}
	return counts;
}

static json_t *census_node_json(const struct gather_node *n)
{
	const char *labels = strchr(n->labels, ',');
	json_t *services = json_array();

	for (const char *at = n->services; *at;) {
		size_t len = strcspn(at, "\n");
		json_array_append_new(services, json_stringn(at, len));
		at += len + (at[len] != '\0');
	}
	return json_pack("{s:s,s:s,s:s,s:s,s:s,s:i,s:i,s:o,s:i,s:s}", "name", n->name, "labels",
			 labels ? labels + 1 : "", "version", n->version, "verdict",
			 n->verdict ? verdict_name(n->verdict) : "", "why", n->why, "cpus",
			 (int)n->nr_cpus, "jvms", (int)n->nr_jvms, "services", services,
			 "nr_services", (int)n->nr_services, "url", n->url);
}

/* Nodes that answered a census, and the services that run on them. */
static json_t *fleet_json_census(const struct gather *g)
{
	auto_free struct gather_node **all = gather_by_name(g);
	json_t *nodes = json_array();

	for (size_t i = 0; i < g->nodes.nr && i < FLEET_JSON_LIST; i++)
		json_array_append_new(nodes, census_node_json(all[i]));
	auto_free char *silent = census_silent_text(g);
	return json_pack("{s:i,s:i,s:s,s:o,s:o,s:o}", "nr", (int)g->nodes.nr, "twins",
			 (int)g->nr_twins, "silent", silent ?: "", "services", services_json(g),
			 "labels", label_counts_json(g), "nodes", nodes);
}

struct asked {
	struct fleet_requests *all;
	u64 id, begun_ms, ended_ms, profile;
	char *who;
	struct controller_order order;
	struct controller_host host;
	struct controller *c;            /* NULL: it has ended, or reads history */
	struct history_reading *history; /* NULL: it has ended, or asks nodes */
	char by[64];                     /* of history */
	bool is_history;
	json_t *last;       /* its state when it ended */
	char *note, *error; /* owned; NULL */
	bool is_stopping;
	struct payload *whole; /* the profile while it is being stored; else NULL */
};

struct fleet_requests {
	struct service *sv;
	const struct web_asks *o;
	struct link *link;
	struct fleet_connection connection;
	char inbox[64], owner[2 * INBOX_OWNER + 1];
	u8 private_key[FLEET_KEY_LEN];
	struct canary canary;
	struct controller_host host; /* of the census */
	struct controller *census, *next_census;
	u64 census_ms, census_ns, watched_ns;
	struct fleet_overview *overview;
	struct history *history;  /* NULL: there is no store */
	VEC(struct asked *) list; /* the oldest first */
	u64 last_id;
};

static u64 host_mono_ns(void *ctx)
{
	return time_mono_ns();
}

static u64 host_wall_ms(void *ctx)
{
	return time_wall_ns() / NS_PER_MS;
}

static void publish(struct fleet_requests *all, const char *subject, const char *reply,
		    const void *bytes, size_t len)
{
	/* No error: requests without an answer are repeated. */
	if (!all->link || link_publish(all->link, subject, reply, bytes, len))
		log_debug("fleet: a message to %s was not sent", subject);
}

static void census_publish(void *ctx, const char *subject, const char *reply, const void *bytes,
			   size_t len)
{
	publish(ctx, subject, reply, bytes, len);
}

static void request_publish(void *ctx, const char *subject, const char *reply, const void *bytes,
			    size_t len)
{
	const struct asked *r = ctx;

	publish(r->all, subject, reply, bytes, len);
}

static void census_report(void *ctx, const char *text)
{
}

static void request_report(void *ctx, const char *text)
{
	struct asked *r = ctx;

	free(r->note);
	r->note = xstrdup(text);
}

static struct controller_host host_of(struct fleet_requests *all)
{
	return (struct controller_host){ .ctx = all,
					 .mono_ns = host_mono_ns,
					 .wall_ms = host_wall_ms,
					 .publish = census_publish,
					 .report = census_report,
					 .workers = all->o->workers,
					 .canary = &all->canary,
					 .private_key = all->private_key,
					 .inbox = all->inbox };
}

/*
 * Collects the nodes that should answer: those that answered the last census, and those that
 * JetStream has seen.
 */
static void expect_nodes(struct fleet_requests *all, struct controller *c)
{
	if (all->link)
		link_read_stream(all->link, LINK_STREAM_SEEN, 0, false);
	if (!all->census)
		return;
	vec_each(n, &controller_view(all->census).census->nodes)
		controller_take_seen(c, (*n)->name);
}

static void begin_census(struct fleet_requests *all)
{
	struct controller_order o = { .want = WANT_CENSUS, .answers_ms = ANSWERS_MS };

	copy_text(o.events, sizeof(o.events), "cpu");
	all->census_ns = time_mono_ns();
	if (controller_start(&o, &all->host, &all->next_census))
		log_error("fleet: the nodes cannot be asked who they are");
	else
		expect_nodes(all, all->next_census);
}

static bool is_watched(const struct fleet_requests *all)
{
	return all->watched_ns && time_mono_ns() - all->watched_ns < WATCHED_NS;
}

static void step_census(struct fleet_requests *all)
{
	bool is_due = !all->census_ns || time_mono_ns() - all->census_ns > CENSUS_NS;

	if (!all->next_census && all->connection.is_up && is_due && is_watched(all))
		begin_census(all);
	if (!all->next_census)
		return;
	controller_step(all->next_census);
	if (controller_view(all->next_census).phase != CONTROLLER_ENDED)
		return;
	controller_free(all->census);
	all->census = take(all->next_census);
	all->census_ms = time_wall_ns() / NS_PER_MS;
	all->sv->changed |= CHANGED_FLEET;
}

static size_t nr_running(const struct fleet_requests *all)
{
	size_t nr = 0;

	vec_each(r, &all->list)
		nr += !(*r)->ended_ms;
	return nr;
}

/*
 * Reads the use of services while somebody looks. A node answers one request a second of a key, and
 * serves a few at a time: those of people come first.
 */
static void step_overview(struct fleet_requests *all)
{
	bool may_ask = all->connection.is_up && is_watched(all) && all->census &&
		       !all->next_census && !nr_running(all);

	if (fleet_overview_step(all->overview, &all->host, may_ask, time_wall_ns() / NS_PER_MS))
		all->sv->changed |= CHANGED_FLEET;
}

/* A kept_fn. */
static void kept(void *ctx, int err, u64 id)
{
	struct asked *r = ctx;

	if (err)
		r->error = xasprintf("The profile is not kept: %s.", strerror(-err));
	else
		r->profile = id;
	payload_put(take(r->whole));
	r->ended_ms = time_wall_ns() / NS_PER_MS;
	r->all->sv->changed |= CHANGED_FLEET;
}

/* Stores the profile. `g`: the nodes that took part; NULL: it is history. */
static void keep(struct asked *r, const struct str *bytes, const struct gather *g)
{
	struct payload *p = payload_new(xmemdup(bytes->at, bytes->len + 1), bytes->len);
	size_t nr = g ? gather_count(g, GATHER_DELIVERED) : 0;
	struct stored facts = {
		.name = xasprintf("%s%s%s", *r->order.selector ? r->order.selector : "fleet",
				  *r->order.reason ? ": " : "", r->order.reason),
		.events = xstrdup(r->order.events),
		.target = g ? xasprintf("%zu node%s", nr, nr == 1 ? "" : "s") : xstrdup("history"),
		.source = xstrdup("fleet"),
		.start_ns = (r->begun_ms - r->order.ago_s * 1000ull) * NS_PER_MS,
		.duration_ns = r->order.duration_s * NS_PER_SEC,
	};

	if (r->order.want == WANT_SLICES)
		facts.start_ns -= facts.duration_ns;
	for (size_t i = 0; g && i < g->nodes.nr; i++) {
		const struct gather_node *n = g->nodes.at[i];
		if (n->state != GATHER_DELIVERED)
			continue;
		facts.samples += n->samples;
		facts.lost += n->lost;
	}
	r->whole = payload_get(p);
	keep_profile(r->all->sv, &facts, p, kept, r);
	payload_put(p);
}

static void end_request(struct asked *r)
{
	const struct controller_state s = controller_view(r->c);

	r->last = fleet_json_request(r->c);
	if (s.error)
		r->ended_ms = time_wall_ns() / NS_PER_MS;
	else
		keep(r, controller_profile(r->c), s.nodes);
	controller_free(take(r->c));
	r->all->sv->changed |= CHANGED_FLEET;
}

static void end_reading(struct asked *r)
{
	r->last = history_json(r->history);
	if (history_error(r->history))
		r->ended_ms = time_wall_ns() / NS_PER_MS;
	else
		keep(r, history_profile(r->history), NULL);
	history_free(take(r->history));
	r->all->sv->changed |= CHANGED_FLEET;
}

static void asked_free(struct asked *r)
{
	controller_free(r->c);
	history_free(r->history);
	json_decref(r->last);
	payload_put(r->whole);
	free(r->who);
	free(r->note);
	free(r->error);
	free(r);
}

/*
 * Drops the oldest request that has ended. A request whose profile is still being stored stays,
 * because `kept` will be called.
 */
static void drop_oldest(struct fleet_requests *all)
{
	size_t left = 0;
	bool drops = all->list.nr >= KEPT_MAX;

	vec_each(r, &all->list) {
		if (drops && (*r)->ended_ms) {
			asked_free(*r);
			drops = false;
		} else {
			all->list.at[left++] = *r;
		}
	}
	all->list.nr = left;
}

static struct asked *asked_new(struct fleet_requests *all, const struct controller_order *o,
			       const char *who)
{
	struct asked *r = xcalloc(1, sizeof(*r));

	drop_oldest(all);
	*r = (struct asked){ .all = all,
			     .begun_ms = time_wall_ns() / NS_PER_MS,
			     .who = xstrdup(who),
			     .order = *o,
			     .host = host_of(all) };
	return r;
}

static void list_asked(struct fleet_requests *all, struct asked *r, u64 *id)
{
	*id = r->id = ++all->last_id;
	vec_push(&all->list, r);
	all->sv->changed |= CHANGED_FLEET;
}

bool fleet_requests_have_history(const struct fleet_requests *all)
{
	return all->history;
}

int fleet_requests_read(struct fleet_requests *all, const struct history_order *o,
			const char *reason, const char *who, u64 *id, struct str *why)
{
	struct controller_order shown = { .want = WANT_SLICES,
					  .duration_s = (u32)((o->to_ms - o->from_ms) / 1000) };
	struct history_order own = *o;
	u64 now_ms = time_wall_ns() / NS_PER_MS;

	if (nr_running(all) >= FLEET_REQUESTS_RUN)
		return -EBUSY;
	if (now_ms > o->to_ms)
		shown.ago_s = (u32)((now_ms - o->to_ms) / 1000);
	if (all->census)
		own.nr_nodes = controller_view(all->census).nr_census;
	memcpy(shown.selector, o->selector, sizeof(shown.selector));
	memcpy(shown.events, o->event, sizeof(shown.events));
	copy_text(shown.reason, sizeof(shown.reason), reason);
	struct history_reading *history;
	int err = history_start(all->history, all->o->workers, &own, &history, why);
	if (err)
		return err;
	struct asked *r = asked_new(all, &shown, who);
	r->history = history;
	r->is_history = true;
	memcpy(r->by, o->by, sizeof(r->by));
	list_asked(all, r, id);
	return 0;
}

int fleet_requests_start(struct fleet_requests *all, const struct controller_order *o,
			 const char *who, u64 *id)
{
	if (!all->connection.is_up)
		return -ENOTCONN;
	if (nr_running(all) >= FLEET_REQUESTS_RUN)
		return -EBUSY;
	struct asked *r = asked_new(all, o, who);
	r->order.answers_ms = ANSWERS_MS;
	r->host.ctx = r;
	r->host.previews = true;
	r->host.publish = request_publish;
	r->host.report = request_report;
	int err = controller_start(&r->order, &r->host, &r->c);
	if (err) {
		asked_free(r);
		return err;
	}
	expect_nodes(all, r->c);
	list_asked(all, r, id);
	return 0;
}

int fleet_requests_stop(struct fleet_requests *all, u64 id)
{
	vec_each(r, &all->list) {
		if ((*r)->id != id || (!(*r)->c && !(*r)->history))
			continue;
		if ((*r)->c)
			controller_stop((*r)->c);
		else
			history_stop((*r)->history);
		(*r)->is_stopping = true;
		all->sv->changed |= CHANGED_FLEET;
		return 0;
	}
	return -ENOENT;
}

static void take_message(struct fleet_requests *all, const struct link_event *e)
{
	vec_each(r, &all->list)
		if ((*r)->c)
			controller_message((*r)->c, e->subject, e->bytes, e->len);
	if (all->next_census)
		controller_message(all->next_census, e->subject, e->bytes, e->len);
	fleet_overview_message(all->overview, e->subject, e->bytes, e->len);
}

/* A node that JetStream has seen in the last 90 s, or the end of the list of these nodes. */
static void take_seen(struct fleet_requests *all, const struct link_event *e)
{
	const char *node = link_seen_node(e);

	if (!node) {
		all->sv->changed |= CHANGED_FLEET;
		return;
	}
	if (all->next_census ?: all->census)
		controller_take_seen(all->next_census ?: all->census, node);
	vec_each(r, &all->list)
		if ((*r)->c)
			controller_take_seen((*r)->c, node);
}

static void take_events(struct fleet_requests *all)
{
	struct link_event e;

	for (int i = 0; all->link && i < MESSAGES_MAX; i++) {
		int err = link_receive(all->link, &e);
		if (err == -EPIPE) {
			fleet_connection_end(&all->connection);
			all->sv->changed |= CHANGED_FLEET;
			link_free(take(all->link));
		}
		if (err)
			return;
		if (e.kind == LINK_MESSAGE)
			take_message(all, &e);
		else if (e.kind == LINK_STORED || e.kind == LINK_STORED_END)
			take_seen(all, &e);
		else
			all->sv->changed |=
				fleet_connection_take(&all->connection, &e) ? CHANGED_FLEET : 0;
	}
}

void fleet_requests_tick(struct fleet_requests *all)
{
	if (!all)
		return;
	take_events(all);
	step_census(all);
	step_overview(all);
	history_tick(all->history);
	for (size_t i = 0; i < all->list.nr; i++) {
		struct asked *r = all->list.at[i];
		if (r->history && history_step(r->history))
			end_reading(r);
		if (!r->c)
			continue;
		controller_step(r->c);
		if (controller_view(r->c).phase == CONTROLLER_ENDED)
			end_request(r);
	}
}

bool fleet_requests_run(const struct fleet_requests *all)
{
	return all && (all->next_census || fleet_overview_runs(all->overview) || nr_running(all));
}

void fleet_requests_watched(struct fleet_requests *all)
{
	if (all)
		all->watched_ns = time_mono_ns();
}

bool fleet_requests_are_broken(const struct fleet_requests *all)
{
	return all && workers_are_broken(all->o->workers);
}

int fleet_requests_fd(const struct fleet_requests *all)
{
	return all && all->link ? link_fd(all->link) : -1;
}

/* The key has a right to inboxes below its owner's only, also for answers of JetStream. */
static int start_link(struct fleet_requests *all)
{
	const struct web_asks *o = all->o;
	auto_free char *own = xasprintf("_INBOX.%s", all->owner);
	auto_free char *inbox = xasprintf("%s.>", all->inbox);
	const struct link_options link = {
		.url = o->url, .name = "sysflame-fleet", .inbox = own, .dir = o->dir
	};
	int err = link_start(&link, &all->link);

	return err ?: link_subscribe(all->link, inbox);
}

int fleet_requests_new(struct service *sv, const struct web_asks *o, struct fleet_requests **out)
{
	if (!o)
		return 0;
	struct fleet_requests *all = xcalloc(1, sizeof(*all));
	all->sv = sv;
	all->o = o;
	canary_open(&all->canary, o->kept);
	all->overview = fleet_overview_new();
	all->host = host_of(all);
	/* The caller's copy stays, too: web_run's options outlive this. */
	memcpy(all->private_key, o->private_key, sizeof(all->private_key));
	int err = history_open(o->history, o->history_credentials, &all->history)
			  ?: key_inbox(all->private_key, all->owner, all->inbox)
			  ?: start_link(all);
	if (err) {
		log_error("fleet: cannot start: %s", strerror(-err));
		fleet_requests_free(all);
		return err;
	}
	*out = all;
	return 0;
}

/* Nobody will take their results. */
static void stop_all(struct fleet_requests *all)
{
	bool stops = false;

	vec_each(r, &all->list)
		if ((*r)->c) {
			controller_stop((*r)->c);
			stops = true;
		}
	if (stops && all->link)
		link_flush(all->link);
}

void fleet_requests_free(struct fleet_requests *all)
{
	if (!all)
		return;
	stop_all(all);
	vec_each(r, &all->list)
		asked_free(*r);
	vec_fini(&all->list);
	controller_free(all->next_census);
	controller_free(all->census);
	fleet_overview_free(all->overview);
	history_close(all->history);
	link_free(all->link);
	fleet_connection_fini(&all->connection);
	canary_fini(&all->canary);
	explicit_bzero(all->private_key, sizeof(all->private_key));
	free(all);
}

/* NULL: there is nothing to show yet. */
static const struct combine *preview_of(const struct asked *r)
{
	const struct combine *p = r->c         ? controller_view(r->c).preview
				  : r->history ? history_preview(r->history)
					       : NULL;

	return p && p->nr ? p : NULL;
}

int fleet_requests_preview(const struct fleet_requests *all, u64 id, struct payload **out, u32 *nr)
{
	vec_each(r, &all->list) {
		const struct combine *p = (*r)->id == id ? preview_of(*r) : NULL;
		if ((*r)->id == id && (*r)->whole) {
			*out = payload_get((*r)->whole);
			*nr = UINT32_MAX;
			return 0;
		}
		if (!p)
			continue;
		*out = payload_new(xmemdup(p->shown.at, p->shown.len + 1), p->shown.len);
		*nr = p->nr;
		return 0;
	}
	return -ENOENT;
}

u64 fleet_requests_profile(const struct fleet_requests *all, u64 id)
{
	vec_each(r, &all->list)
		if ((*r)->id == id)
			return (*r)->profile;
	return 0;
}

static json_t *request_json(const struct asked *r)
{
	const struct controller_order *o = &r->order;
	json_t *state = r->c         ? fleet_json_request(r->c)
			: r->history ? history_json(r->history)
				     : json_copy(r->last);
	const char *want = r->is_history            ? "history"
			   : o->want == WANT_SLICES ? "slices"
						    : "recording";
	json_t *more = json_pack("{s:I,s:s,s:s,s:s,s:s,s:s,s:s,s:i,s:i,s:i,s:I,s:I,s:I,s:b,s:s}",
				 "id", (json_int_t)r->id, "select", o->selector, "want", want, "by",
				 r->by, "events", o->events, "reason", o->reason, "who", r->who,
				 "rate_hz", (int)o->hz, "duration_s", (int)o->duration_s, "ago_s",
				 (int)o->ago_s, "begun_ms", (json_int_t)r->begun_ms, "ended_ms",
				 (json_int_t)r->ended_ms, "profile", (json_int_t)r->profile,
				 "is_stopping", r->is_stopping, "note", r->note ?: "");

	json_object_update(state, more);
	const struct combine *p = preview_of(r);
	json_object_set_new(state, "previews", json_integer(p ? p->nr : 0));
	json_object_set_new(state, "preview_nodes", json_integer(p ? p->nr_nodes : 0));
	if (r->error)
		json_object_set_new(state, "error", json_string(r->error));
	json_decref(more);
	return state;
}

json_t *fleet_requests_json(const struct fleet_requests *all)
{
	json_t *list = json_array();

	for (size_t i = all->list.nr; i-- > 0;)
		json_array_append_new(list, request_json(all->list.at[i]));
	auto_free char *url = bus_url_shown(all->o->url);
	json_t *nats = fleet_connection_json(&all->connection);
	json_object_set_new(nats, "url", json_string(url));
	return json_pack("{s:o,s:s,s:s,s:I,s:I,s:o}", "nats", nats, "key", all->owner, "history",
			 history_url(all->history) ?: "", "census_ms", (json_int_t)all->census_ms,
			 "services_nr", (json_int_t)fleet_overview_readings(all->overview),
			 "requests", list);
}

json_t *fleet_requests_services(const struct fleet_requests *all)
{
	return fleet_overview_json(all->overview,
				   all->census ? controller_view(all->census).census : NULL);
}

json_t *fleet_requests_nodes(const struct fleet_requests *all)
{
	static const struct gather nobody;
	const struct controller_state s =
		all->census ? controller_view(all->census) : (struct controller_state){ 0 };
	json_t *o = fleet_json_census(s.census ?: &nobody);

	json_object_set_new(o, "at_ms", json_integer((json_int_t)all->census_ms));
	json_object_set_new(o, "error", json_string(s.error && !s.nr_census ? s.error : ""));
	return o;
}
