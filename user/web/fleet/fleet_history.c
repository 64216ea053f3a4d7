/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of the past from the store that nodes push to. */
#include "web/fleet/fleet_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "base/vec.h"
#include "fleet/controller/combine.h"
#include "fleet/wire/selector.h"
#include "net/http_client.h"
#include "profile/profile.h"
#include "push/credentials.h"
#include "push/query.h"
#include "push/receiver.h"

#define PROFILE_BYTES (32u << 20)
#define LIST_BYTES    (1u << 20)
#define QUERY_S       120 /* time limit of a query: the store merges a week before it answers */
#define STEPS         60  /* parts of the time whose coverage is asked for */
#define STEP_MIN_S    15
#define AT_ONCE       2 /* queries, of all people */

struct history {
	struct http_client *client;
	char *url; /* owned */
	bool is_broken;
};

enum part_state {
	PART_WAITS,
	PART_ASKED,
	PART_DELIVERED,
	PART_FAILED,
};

/* What is asked for by one query: the profiles with one value of the label. */
struct part {
	char *value;   /* owned; "": they lack the label, or nothing is split */
	char name[64]; /* in the merge */
	enum part_state state;
	u64 total;
	char *why; /* owned; NULL */
};

enum phase {
	PHASE_NODES,  /* which nodes have profiles */
	PHASE_TIMES,  /* at which times there are some */
	PHASE_VALUES, /* of the label */
	PHASE_PARTS,
	PHASE_MERGES,
	PHASE_ENDED,
};

struct history_reading {
	struct history *h;
	struct history_order order;
	const struct query_event *event;
	struct selector selector;
	struct combine combine;
	enum phase phase;
	VEC(struct part) parts;
	size_t at; /* the part that is asked for */
	u32 nr_nodes, nr_steps, nr_unusable;
	bool is_asking, knows_times, is_stopping, is_noted;
	char *error; /* owned; NULL */
};

int history_open(const struct receiver *r, struct credentials *c, struct history **out)
{
	if (!r)
		return 0;
	struct http_server s = {
		.url = xstrdup(r->url),
		.basic = c->basic ? xstrdup(c->basic) : NULL,
		.ca = c->ca ? xstrdup(c->ca) : NULL,
		.uses_proxy = true,
		.judge = receiver_judge,
	};
	const struct http_client_options o = {
		.name = "sysflame-history",
		.servers = &s,
		.nr_servers = 1,
		.max_bytes = PROFILE_BYTES,
		.max_open = AT_ONCE,
	};

	http_server_add_header(&s, xstrdup("Content-Type: application/proto"));
	http_server_add_header(&s, xstrdup("Connect-Protocol-Version: 1"));
	if (c->bearer)
		http_server_add_bearer(&s, c->bearer);
	for (u32 i = 0; i < c->nr_headers; i++)
		http_server_add_header(&s, xstrdup(c->headers[i]));
	struct history *h = xcalloc(1, sizeof(*h));
	h->url = xstrdup(r->url);
	int err = http_client_start(&o, &h->client);
	http_server_wipe(&s);
	credentials_wipe(c);
	if (err) {
		log_error("fleet: the process that reads history cannot be started: %s",
			  strerror(-err));
		history_close(h);
		return err;
	}
	*out = h;
	return 0;
}

void history_close(struct history *h)
{
	if (!h)
		return;
	http_client_free(h->client);
	free(h->url);
	free(h);
}

const char *history_url(const struct history *h)
{
	return h ? h->url : NULL;
}

void history_tick(struct history *h)
{
	if (h && !h->is_broken && http_client_step(h->client)) {
		log_error("fleet: the process that reads history has ended; restart sysflame");
		h->is_broken = true;
	}
}

/* Takes the sentence over. */
static void fail(struct history_reading *r, char *error)
{
	free(r->error);
	r->error = error;
	r->phase = PHASE_ENDED;
}

/* The selector of the order, limited to one value of the label unless `value` is NULL. */
static char *selector_of(const struct history_reading *r, const char *value)
{
	const struct selector *s = &r->selector;
	struct str out = { 0 };

	if (*s->processes[SELECTOR_SERVICE])
		query_selector_add(&out, "service_name", false, s->processes[SELECTOR_SERVICE]);
	for (u32 i = 0; i < s->nr_nodes; i++) {
		auto_free char *label = query_label(s->nodes[i].key);
		query_selector_add(&out, label, s->nodes[i].is_not, s->nodes[i].value);
	}
	if (value && *r->order.by) {
		auto_free char *label = query_label(r->order.by);
		query_selector_add(&out, label, false, value);
	}
	query_selector_end(&out);
	return str_take(&out);
}

static void answered(void *ctx, const struct http_answer *a);

/* Sends a query. */
static void ask(struct history_reading *r, const char *path, const struct str *body, u64 max_bytes)
{
	auto_close int fd = memfile_new("query");
	const struct http_request q = {
		.path = path, .body_fd = fd, .max_bytes = max_bytes, .timeout_s = QUERY_S
	};

	int err = fd < 0 ? fd : pwrite(fd, body->at, body->len, 0) != (ssize_t)body->len ? -EIO : 0;
	err = err ?: r->h->is_broken ? -EPIPE : http_client_add(r->h->client, &q, answered, r);
	if (err) {
		fail(r, xasprintf("the store cannot be asked: %s", strerror(-err)));
		return;
	}
	r->is_asking = true;
}

/* A sentence for the fault of an answer; NULL if there is none. The caller frees it. */
static char *fault_of(const struct http_answer *a)
{
	const struct http_finding *f = &a->found;

	if (!f->fault && f->status / 100 == 2)
		return NULL;
	return xasprintf("%s%s", f->fault == HTTP_SILENT ? "it did not answer: " : "",
			 *f->why ? f->why : "the answer is not whole");
}

static void add_part(struct history_reading *r, const char *value)
{
	struct part p = { .value = xstrdup(value) };

	snprintf(p.name, sizeof(p.name), "part-%zu", r->parts.nr);
	vec_push(&r->parts, p);
}

static void take_values(struct history_reading *r, const struct http_answer *a)
{
	struct query_values v = { .nr_unusable = 0 };

	if (query_values_read(a->bytes, a->found.len, &v)) {
		fail(r, xstrdup("the store's answer is no list of values of a label"));
		return;
	}
	if (r->phase == PHASE_NODES) {
		r->nr_nodes = (u32)v.all.nr + v.nr_unusable;
		r->phase = PHASE_TIMES;
	} else if (v.all.nr > HISTORY_PARTS) {
		fail(r, xasprintf("%s has %zu values in the store; at most %d can be read apart",
				  r->order.by, v.all.nr, HISTORY_PARTS));
	} else {
		r->nr_unusable = v.nr_unusable;
		vec_each(value, &v.all)
			if (**value)
				add_part(r, *value);
		add_part(r, ""); /* those without the label */
		r->phase = PHASE_PARTS;
	}
	query_values_fini(&v);
}

/* Values in a list of labels have no comma. */
static void add_label(struct str *labels, const char *key, const char *value)
{
	str_addf(labels, "%s%s=", labels->len ? "," : "", key);
	for (; *value; value++)
		str_add_char(labels, *value == ',' ? ';' : *value);
}

static void deliver(struct history_reading *r, struct part *p, const struct http_answer *a)
{
	const char *service = r->selector.processes[SELECTOR_SERVICE];
	auto_str struct str labels = { 0 };

	if (*service)
		add_label(&labels, "service", service);
	if (*p->value && (strcmp(r->order.by, "service") != 0 || !*service))
		add_label(&labels, r->order.by, p->value);
	const struct spool_result result = { .node = p->name,
					     .labels = labels.at ?: "",
					     .weight_ppm = 1000000,
					     .chance_ppb = FLEET_PPB,
					     .bytes = a->bytes,
					     .len = a->found.len };
	/* An empty message has no samples. */
	if (a->found.len && combine_add(&r->combine, &result)) {
		p->state = PART_FAILED;
		p->why = xstrdup("there is no memory for it");
	}
}

static void take_part(struct history_reading *r, const struct http_answer *a)
{
	struct part *p = &r->parts.at[r->at++];

	p->why = fault_of(a);
	p->state = p->why ? PART_FAILED : PART_DELIVERED;
	if (!p->why)
		deliver(r, p, a);
}

/* An http_answer_fn. */
static void answered(void *ctx, const struct http_answer *a)
{
	struct history_reading *r = ctx;
	auto_free char *fault = fault_of(a);

	r->is_asking = false;
	switch (r->phase) {
	case PHASE_NODES:
	case PHASE_VALUES:
		if (fault)
			fail(r, xasprintf("the store at %s: %s", r->h->url, fault));
		else
			take_values(r, a);
		break;
	case PHASE_TIMES:
		r->knows_times = !fault && !query_series_read(a->bytes, a->found.len, &r->nr_steps);
		r->phase = PHASE_VALUES;
		break;
	case PHASE_PARTS:
		take_part(r, a);
		break;
	default:
		break;
	}
}

static u64 step_s(const struct history_reading *r)
{
	u64 s = (r->order.to_ms - r->order.from_ms) / 1000 / STEPS;

	return s > STEP_MIN_S ? s : STEP_MIN_S;
}

/* The number of steps in the time. */
static u32 steps_of(const struct history_reading *r)
{
	u64 s = (r->order.to_ms - r->order.from_ms) / 1000;

	return (u32)((s + step_s(r) - 1) / step_s(r));
}

static void ask_next(struct history_reading *r)
{
	bool is_part = r->phase == PHASE_PARTS;
	auto_free char *selector = selector_of(r, is_part ? r->parts.at[r->at].value : NULL);
	auto_free char *label = query_label(r->phase == PHASE_NODES ? "node" : r->order.by);
	auto_str struct str body = { 0 };
	const struct query q = { r->event, selector, r->order.from_ms, r->order.to_ms };

	if (r->phase == PHASE_TIMES) {
		query_series_add(&q, step_s(r), &body);
		ask(r, QUERY_PATH_SERIES, &body, LIST_BYTES);
	} else if (is_part) {
		query_profile_add(&q, &body);
		r->parts.at[r->at].state = PART_ASKED;
		ask(r, QUERY_PATH_MERGED, &body, PROFILE_BYTES);
	} else {
		query_values_add(&q, label, &body);
		ask(r, QUERY_PATH_VALUES, &body, LIST_BYTES);
	}
}

int history_start(struct history *h, struct workers *w, const struct history_order *o,
		  struct history_reading **out, struct str *why)
{
	struct selector s;

	if (!query_event_find(o->event)) {
		str_add(why, "The store has cpu, offcpu, alloc or lock, one at a time.");
		return -EINVAL;
	}
	if (selector_parse(o->selector, &s, why))
		return -EINVAL;
	if (!selector_is_of_services(&s)) {
		str_add(why, "The store knows services and labels of nodes only.");
		return -EINVAL;
	}
	struct history_reading *r = xcalloc(1, sizeof(*r));
	*r = (struct history_reading){
		.h = h, .order = *o, .event = query_event_find(o->event), .selector = s
	};
	int err = combine_init(&r->combine, w) ?: combine_start_preview(&r->combine);
	if (err) {
		history_free(r);
		return err;
	}
	r->combine.order.tags_nodes = r->combine.order.lists_nodes = false;
	copy_text(r->combine.order.event, sizeof(r->combine.order.event), r->event->own);
	copy_text(r->combine.order.unit, sizeof(r->combine.order.unit), r->event->unit);
	*out = r;
	return 0;
}

void history_free(struct history_reading *r)
{
	if (!r)
		return;
	http_client_cancel(r->h->client, r);
	combine_fini(&r->combine);
	vec_each(p, &r->parts) {
		free(p->value);
		free(p->why);
	}
	vec_fini(&r->parts);
	free(r->error);
	free(r);
}

void history_stop(struct history_reading *r)
{
	if (r->phase < PHASE_PARTS)
		fail(r, xstrdup("it was stopped before it began"));
	r->is_stopping = true;
	http_client_cancel(r->h->client, r);
	r->is_asking = false;
}

static const char *reason_of(u32 err)
{
	return err == EOVERFLOW ? "with it a sum would exceed 2^53"
	       : err == EPROTO  ? "it has values of another kind or unit than was asked for"
				: "it is no profile that can be read";
}

/* Each part gets the total that the merge found, or the reason why it was left out. */
static void take_totals(struct history_reading *r)
{
	vec_each(t, &r->combine.totals)
		vec_each(p, &r->parts) {
			if (strcmp(p->name, t->node) != 0)
				continue;
			p->total = t->raw;
			if (!t->err || t->err == ENODATA)
				continue;
			p->state = PART_FAILED;
			free(p->why);
			p->why = xstrdup(reason_of(t->err));
		}
}

static u32 count(const struct history_reading *r, enum part_state state)
{
	u32 nr = 0;

	vec_each(p, &r->parts)
		nr += p->state == state;
	return nr;
}

static u64 sum(const struct history_reading *r)
{
	u64 total = 0;

	vec_each(p, &r->parts)
		total += p->state == PART_DELIVERED ? p->total : 0;
	return total;
}

static const char *part_name(const struct history_reading *r, const struct part *p, struct str *out)
{
	if (!*r->order.by)
		str_add(out, "all");
	else if (*p->value)
		str_addf(out, "%s %s", r->order.by, p->value);
	else
		str_addf(out, "without %s", r->order.by);
	return out->at;
}

static int note_parts(struct history_reading *r, struct spool *s)
{
	int err = 0;

	vec_each(p, &r->parts) {
		auto_str struct str name = { 0 }, key = { 0 };
		part_name(r, p, &name);
		str_addf(&key, NOTE_INCOMPLETE "fleet-part-%s", p->name);
		str_addf(&name, " is missing: %s", p->why ?: "the request was stopped");
		if (p->state != PART_DELIVERED)
			err = err ?: spool_add_note(s, key.at, name.at, 1);
	}
	return err;
}

/* What the profile stands for. */
static int note(struct history_reading *r, struct spool *s)
{
	auto_free char *title =
		xasprintf("%s, history of %u %s", *r->order.selector ? r->order.selector : "fleet",
			  r->nr_nodes, r->nr_nodes == 1 ? "node" : "nodes");
	auto_free char *source =
		xasprintf("nodes have profiles of this time in %s. Nodes that push "
			  "a share of their minutes weigh them by it",
			  r->h->url);
	auto_free char *times =
		xasprintf("of %u equal parts of the time have profiles", steps_of(r));
	int err = spool_add_note(s, "", title, 0);

	if (r->order.nr_nodes)
		err = err
			      ?: spool_add_note(s, "fleet-asked",
						"nodes of the fleet answer at present",
						r->order.nr_nodes);
	err = err ?: spool_add_note(s, "fleet-stored", source, r->nr_nodes);
	if (r->knows_times)
		err = err ?: spool_add_note(s, "fleet-times", times, r->nr_steps);
	else
		err = err
			      ?: spool_add_note(s, NOTE_INCOMPLETE "fleet-times",
						"it is unknown at which times there are profiles",
						1);
	if (r->nr_unusable)
		err = err
			      ?: spool_add_note(
					 s, NOTE_INCOMPLETE "fleet-values",
					 "values of the label are no texts, and are left out",
					 r->nr_unusable);
	return err ?: note_parts(r, s);
}

static void step_merge(struct history_reading *r)
{
	struct combine *c = &r->combine;

	if (!combine_is_done(c))
		return;
	if (c->error) {
		fail(r, xstrdup(c->error));
		return;
	}
	if (r->is_noted) {
		r->phase = PHASE_ENDED;
		return;
	}
	take_totals(r);
	if (!count(r, PART_DELIVERED)) {
		const char *why = r->parts.nr ? r->parts.at[0].why : NULL;
		fail(r, xasprintf("the store at %s: %s", r->h->url, why ?: "nothing was read"));
	} else if (!sum(r)) {
		fail(r, xasprintf("the store at %s has no such samples of this time", r->h->url));
	} else if (note(r, &c->next)) {
		fail(r, xstrdup("there is no memory for the notes"));
	} else {
		r->is_noted = c->order.is_last = true;
		combine_step(c, true);
	}
}

bool history_step(struct history_reading *r)
{
	bool has_all = r->phase == PHASE_PARTS && (r->at == r->parts.nr || r->is_stopping);

	if (r->phase == PHASE_VALUES && !*r->order.by) {
		add_part(r, "");
		r->phase = PHASE_PARTS;
	}
	if (has_all)
		r->phase = PHASE_MERGES;
	else if (r->phase < PHASE_MERGES && !r->is_asking)
		ask_next(r);
	combine_step_preview(&r->combine, time_mono_ns());
	if (r->phase < PHASE_ENDED)
		combine_step(&r->combine, r->phase == PHASE_MERGES);
	if (r->phase == PHASE_MERGES)
		step_merge(r);
	return r->phase == PHASE_ENDED;
}

const char *history_error(const struct history_reading *r)
{
	return r->error;
}

const struct str *history_profile(const struct history_reading *r)
{
	return &r->combine.profile;
}

const struct combine *history_preview(const struct history_reading *r)
{
	return r->combine.preview;
}

static json_t *part_json(const struct history_reading *r, const struct part *p)
{
	static const char *const states[] = { [PART_WAITS] = "works",
					      [PART_ASKED] = "ready",
					      [PART_DELIVERED] = "delivered",
					      [PART_FAILED] = "failed" };
	auto_str struct str name = { 0 };

	return json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:i,s:i,s:i,s:i}", "name",
			 part_name(r, p, &name), "state", states[p->state], "verdict",
			 p->why ? "FAILED" : "", "why", p->why ?: "", "labels", "", "url", "",
			 "value", (json_int_t)p->total, "samples", 0, "lost", 0, "profile", 0,
			 "died", 0);
}

json_t *history_json(const struct history_reading *r)
{
	const char *phase = r->phase < PHASE_PARTS    ? "census"
			    : r->phase == PHASE_PARTS ? "fetches"
			    : r->phase == PHASE_ENDED ? "ended"
						      : "merges";
	u32 failed = count(r, PART_FAILED), delivered = count(r, PART_DELIVERED);
	json_t *parts = json_array();

	vec_each(p, &r->parts)
		json_array_append_new(parts, part_json(r, p));
	json_t *counts = json_pack("{s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i}", "answered",
				   (int)r->nr_nodes, "matched", (int)r->nr_nodes, "chosen",
				   (int)r->parts.nr, "accepted", (int)r->parts.nr, "works",
				   (int)(r->parts.nr - failed - delivered), "ready", 0, "delivered",
				   (int)delivered, "refused", 0, "failed", (int)failed);
	return json_pack("{s:s,s:i,s:i,s:o,s:n,s:s,s:s,s:I,s:i,s:o}", "phase", phase, "wave", 1,
			 "nr_waves", 1, "counts", counts, "estimate", "stopped", "", "error",
			 r->error ?: "", "total", (json_int_t)sum(r), "nr_nodes", (int)r->parts.nr,
			 "nodes", parts);
}
