/* SPDX-License-Identifier: Apache-2.0 */
/* A fleet without NATS. */
#include "fleet/http/http_fleet.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "base/time.h"
#include "fleet/wire/policy.h"
#include "fleet/wire/selector.h"
#include "net/http_client.h"

#define SERVICES_S   600 /* a service that used a CPU in this time counts as running */
#define SERVICES_MAX 1000
#define TOTAL_MAX_MS (1ull << 40)
#define OPEN_MAX     48 /* requests at a time; others wait */
#define NODE_BYTES   (256u << 10)
#define SLICES_BYTES (1u << 20)
#define ANSWER_BYTES (64u << 10)
#define SAID_BYTES   160
#define ASK_S        15
#define RESULT_S     60
#define LOOK_NS      (500 * NS_PER_MS)
#define ENDING_NS    (45 * NS_PER_SEC) /* from the end of a recording to its result */

struct service {
	char *name;
	u64 total_ms;
};

struct http_node {
	struct http_fleet *fleet;
	u32 index;                  /* in the file */
	char name[64], labels[256]; /* with node=NAME */
	char why[256];              /* it cannot be asked; "" */
	bool is_ready, has_recorder;
	u32 nr_cpus;
	struct policy_caps caps;
	VEC(struct service) services;
};

/* A request that a daemon works on. */
struct node_request {
	struct http_node *node;
	u8 id[FLEET_ID_LEN];
	u64 session;    /* 0: none */
	u64 look_ns;    /* when to look for the profile next; 0: a lookup is under way */
	u64 give_up_ns; /* deadline for the profile */
	u64 samples, lost, covered_ms, busy_ppm;
	bool is_stopped;
};

/* A message for http_fleet_step, and a node's result or NULL; both are owned. */
struct letter {
	struct fleet_message *message;
	void *result;
};

struct http_fleet {
	struct http_client *client;
	struct http_node *nodes;
	u32 nr_nodes;
	VEC(struct node_request *) requests;
	VEC(struct letter) letters;
};

static void fetch(struct http_node *n, struct http_request r, http_answer_fn done, void *ctx)
{
	static const struct http_answer too_long = { .found.why = "the request is too long",
						     .bytes = "" };

	r.server = n->index;
	if (http_client_add(n->fleet->client, &r, done, ctx))
		done(ctx, &too_long);
}

/* A JSON object of an answer; NULL if it is something else. The caller owns it. */
static json_t *json_of(const struct http_answer *r)
{
	json_t *j = json_loadb(r->bytes, r->found.len, JSON_REJECT_DUPLICATES, NULL);

	if (j && !json_is_object(j)) {
		json_decref(j);
		return NULL;
	}
	return j;
}

static u64 number(const json_t *object, const char *key, u64 max)
{
	const json_t *value = json_object_get(object, key);
	json_int_t n = json_is_integer(value) ? json_integer_value(value) : 0;

	return n < 0 ? 0 : (u64)n > max ? max : (u64)n;
}

/* "It answers 403: only an operator may", in a sentence. */
static void add_fault(struct str *out, const struct http_answer *r)
{
	json_t *j = r->found.status ? json_of(r) : NULL;
	const char *said =
		json_string_value(json_object_get(json_object_get(j, "error"), "message"));

	if (!r->found.status) {
		str_addf(out, "It cannot be asked: %s.", r->found.why);
	} else {
		str_addf(out, "It answers %u", r->found.status);
		if (r->found.status / 100 == 2)
			str_add(out, ", and not as a daemon does");
		if (r->found.status / 100 == 3)
			str_add(out, ": redirects are not followed");
		if (said) {
			str_add(out, ": ");
			utf8_clean(out, said, SAID_BYTES);
		}
		if (out->at[out->len - 1] != '.')
			str_add(out, ".");
	}
	json_decref(j);
}

static void add_service(struct http_node *n, const json_t *one)
{
	const char *said = json_string_value(json_object_get(one, "service"));
	auto_str struct str name = { 0 };

	if (!said || !*said || n->services.nr >= SERVICES_MAX)
		return;
	utf8_clean(&name, said, sizeof(((struct fleet_answer *)0)->services[0]) - 1);
	vec_push(&n->services,
		 (struct service){ xstrdup(name.at), number(one, "total", TOTAL_MAX_MS) });
}

static void take_services(void *ctx, const struct http_answer *r)
{
	struct http_node *n = ctx;
	json_t *j = r->found.status == 200 ? json_of(r) : NULL;
	const json_t *series = json_object_get(j, "series");

	for (size_t i = 0; i < json_array_size(series); i++)
		add_service(n, json_array_get(series, i));
	json_decref(j);
	n->is_ready = true;
}

static void take_node(void *ctx, const struct http_answer *r)
{
	struct http_node *n = ctx;
	u64 now_ms = time_wall_ns() / NS_PER_MS;
	auto_free char *path = xasprintf("/api/v1/slices?event=cpu&steps=1&from_ms=%llu&to_ms=%llu",
					 (unsigned long long)(now_ms - SERVICES_S * 1000),
					 (unsigned long long)now_ms);
	const struct http_request next = { .path = path,
					   .max_bytes = SLICES_BYTES,
					   .timeout_s = 10 };
	json_t *j = r->found.status == 200 ? json_of(r) : NULL;
	const json_t *caps = json_object_get(j, "caps"), *recorder = json_object_get(j, "recorder");
	const char *state = json_string_value(json_object_get(recorder, "state"));
	auto_str struct str why = { 0 };

	if (!j) {
		add_fault(&why, r);
		copy_text(n->why, sizeof(n->why), why.at);
		n->is_ready = true;
		return;
	}
	n->nr_cpus = (u32)number(j, "cpus", FLEET_CPUS_MAX);
	n->has_recorder = state && !strcmp(state, "up");
	n->caps.max_hz = (u32)number(caps, "max_hz", POLICY_HZ_MAX);
	n->caps.max_duration_s = (u32)number(caps, "max_duration_s", POLICY_DURATION_S);
	json_decref(j);
	fetch(n, next, take_services, n);
}

static int start_client(const struct http_entries *nodes, struct http_client **out)
{
	struct http_server *servers = xcalloc(nodes->all.nr, sizeof(servers[0]));
	const struct http_client_options o = {
		.name = "sysflame-fetch",
		.servers = servers,
		.nr_servers = (u32)nodes->all.nr,
		.max_bytes = FLEET_BLOB_MAX,
		.max_open = OPEN_MAX,
	};

	for (u32 i = 0; i < o.nr_servers; i++) {
		const struct http_entry *e = &nodes->all.at[i];
		servers[i].url = xstrdup(e->url);
		servers[i].ca = e->ca ? xstrdup(e->ca) : NULL;
		servers[i].socket = e->socket ? xstrdup(e->socket) : NULL;
		http_server_add_bearer(&servers[i], e->token);
		http_server_add_header(&servers[i], xstrdup("X-Sysflame: 1"));
	}
	int err = http_client_start(&o, out);
	for (u32 i = 0; i < o.nr_servers; i++)
		http_server_wipe(&servers[i]);
	free(servers);
	return err;
}

int http_fleet_start(const struct http_entries *nodes, u32 wait_s, struct http_fleet **out)
{
	const struct http_request r = { .path = "/api/v1/node",
					.max_bytes = NODE_BYTES,
					.timeout_s = wait_s };
	struct http_fleet *f = xcalloc(1, sizeof(*f));
	int err = start_client(nodes, &f->client);

	if (err) {
		free(f);
		return err;
	}
	f->nr_nodes = (u32)nodes->all.nr;
	f->nodes = xcalloc(f->nr_nodes, sizeof(f->nodes[0]));
	for (u32 i = 0; i < f->nr_nodes; i++) {
		const struct http_entry *e = &nodes->all.at[i];
		struct http_node *n = &f->nodes[i];
		n->fleet = f;
		n->index = i;
		copy_text(n->name, sizeof(n->name), e->name);
		snprintf(n->labels, sizeof(n->labels), "node=%s%s%s", e->name,
			 *e->labels ? "," : "", e->labels);
		fetch(n, r, take_node, n);
	}
	*out = f;
	return 0;
}

static void letter_free(struct letter *l)
{
	free(l->message);
	free(l->result);
}

void http_fleet_free(struct http_fleet *f)
{
	if (!f)
		return;
	http_client_free(f->client);
	for (u32 i = 0; i < f->nr_nodes; i++) {
		vec_each(s, &f->nodes[i].services)
			free(s->name);
		vec_fini(&f->nodes[i].services);
	}
	free(f->nodes);
	vec_each(r, &f->requests)
		free(*r);
	vec_fini(&f->requests);
	vec_each(l, &f->letters)
		letter_free(l);
	vec_fini(&f->letters);
	free(f);
}

int http_fleet_fd(const struct http_fleet *f)
{
	return http_client_fd(f->client);
}

bool http_fleet_is_ready(const struct http_fleet *f)
{
	for (u32 i = 0; i < f->nr_nodes; i++)
		if (!f->nodes[i].is_ready)
			return false;
	return true;
}

static void send(struct http_fleet *f, const struct fleet_message *m, const void *result,
		 size_t len)
{
	vec_push(&f->letters,
		 (struct letter){ xmemdup(m, sizeof(*m)), result ? xmemdup(result, len) : NULL });
}

/* As busy_ppm of fleet_answer: of the 10 min before the start, from the daemon's slices. */
static u64 busy_ppm(const struct http_node *n, const struct fleet_request *r,
		    const struct selector *s)
{
	const char *service = s->processes[SELECTOR_SERVICE];
	double ms = 0, most = (n->nr_cpus ?: FLEET_CPUS_MAX) * 1e6;

	if (!n->services.nr || !selector_is_of_services(s) || !events_are_cpu(r->events))
		return 0;
	vec_each(one, &n->services)
		ms += !*service || !strcmp(one->name, service) ? (double)one->total_ms : 0;
	double busy = ms * 1e6 / (SERVICES_S * 1000.0);
	return busy < 1 ? 1 : (u64)(busy < most ? busy : most);
}

static void answer(const struct http_node *n, const u8 *id, enum verdict v, const char *why,
		   u64 busy_ppm)
{
	struct fleet_message m = { .kind = MESSAGE_ANSWER };
	struct fleet_answer *a = &m.answer;

	memcpy(a->id, id, sizeof(a->id));
	copy_text(a->node, sizeof(a->node), n->name);
	copy_text(a->labels, sizeof(a->labels), n->labels);
	copy_text(a->why, sizeof(a->why), why);
	a->instance = n->index + 1;
	a->verdict = v;
	a->nr_cpus = n->nr_cpus;
	a->nr_all_services = (u32)n->services.nr;
	for (size_t i = 0; i < n->services.nr && a->nr_services < FLEET_SERVICES; i++)
		copy_text(a->services[a->nr_services++], sizeof(a->services[0]),
			  n->services.at[i].name);
	a->busy_ppm = busy_ppm;
	send(n->fleet, &m, NULL, 0);
}

static void drop(struct node_request *q)
{
	struct http_fleet *f = q->node->fleet;
	size_t kept = 0;

	vec_each(one, &f->requests)
		if (*one != q)
			f->requests.at[kept++] = *one;
	f->requests.nr = kept;
	free(q);
}

static void end(struct node_request *q, enum verdict v, const char *why,
		const struct http_answer *r)
{
	struct fleet_message m = { .kind = MESSAGE_DONE };
	struct fleet_done *d = &m.done;
	auto_str struct str clean = { 0 };

	utf8_clean(&clean, q->is_stopped ? "It was stopped." : why, sizeof(d->why) - 1);
	memcpy(d->id, q->id, sizeof(d->id));
	copy_text(d->node, sizeof(d->node), q->node->name);
	copy_text(d->why, sizeof(d->why), clean.at ?: "");
	d->instance = q->node->index + 1;
	d->verdict = v;
	d->size = r ? r->found.len : 0;
	d->samples = q->samples;
	d->lost = q->lost;
	d->profile = q->session;
	d->covered_ms = q->covered_ms;
	send(q->node->fleet, &m, r ? r->bytes : NULL, d->size);
	drop(q);
}

static void end_by_fault(struct node_request *q, const struct http_answer *r)
{
	auto_str struct str why = { 0 };

	add_fault(&why, r);
	end(q, VERDICT_FAILED, why.at, NULL);
}

/* The profile of slices, or of a recording. */
static void take_profile(void *ctx, const struct http_answer *r)
{
	struct node_request *q = ctx;

	if (r->found.status != 200 || !r->found.len)
		end_by_fault(q, r);
	else
		end(q, VERDICT_ACCEPT, "", r);
}

static void add_query(struct str *path, const char *key, const char *value)
{
	if (!*value)
		return;
	str_addf(path, "%c%s=", strchr(path->at, '?') ? '&' : '?', key);
	address_add(path, value);
}

/* A namespace, which the API does not take, and a label are left to the merge. */
static void start_slices(struct node_request *q, const struct fleet_request *r,
			 const struct selector *s)
{
	u64 to_ms = time_wall_ns() / NS_PER_MS - r->ago_s * 1000ull;
	auto_str struct str path = { 0 };

	str_addf(&path, "/s/%llu-%llu/page", (unsigned long long)(to_ms - r->duration_s * 1000ull),
		 (unsigned long long)to_ms);
	add_query(&path, "event", r->events);
	add_query(&path, "service", s->processes[SELECTOR_SERVICE]);
	add_query(&path, "container", s->processes[SELECTOR_CONTAINER]);
	add_query(&path, "pod", s->processes[SELECTOR_POD]);
	answer(q->node, q->id, VERDICT_ACCEPT, "", q->busy_ppm);
	fetch(q->node,
	      (struct http_request){
		      .path = path.at, .max_bytes = FLEET_BLOB_MAX, .timeout_s = RESULT_S },
	      take_profile, q);
}

static enum verdict verdict_of(const struct http_answer *r)
{
	return r->found.status == 429 || r->found.status == 503 ? VERDICT_BUSY
	       : r->found.status / 100 == 4                     ? VERDICT_POLICY
								: VERDICT_FAILED;
}

static void take_stop(void *ctx, const struct http_answer *r)
{
	/* The answer to this request is ignored: the profile is looked up later in any case. */
}

static void stop(struct node_request *q)
{
	q->is_stopped = true;
	if (!q->session)
		return;
	auto_free char *path =
		xasprintf("/api/v1/sessions/%llu/stop", (unsigned long long)q->session);
	fetch(q->node,
	      (struct http_request){
		      .path = path, .json = "{}", .max_bytes = ANSWER_BYTES, .timeout_s = ASK_S },
	      take_stop, NULL);
	if (q->look_ns)
		q->look_ns = time_mono_ns() + LOOK_NS;
}

static void take_start(void *ctx, const struct http_answer *r)
{
	struct node_request *q = ctx;
	auto_str struct str why = { 0 };
	json_t *j = r->found.status == 201 ? json_of(r) : NULL;

	q->session = number(j, "id", INT64_MAX);
	json_decref(j);
	if (q->session) {
		answer(q->node, q->id, VERDICT_ACCEPT, "", q->busy_ppm);
		if (q->is_stopped)
			stop(q);
		return;
	}
	add_fault(&why, r);
	answer(q->node, q->id, verdict_of(r), why.at, q->busy_ppm);
	drop(q);
}

static json_t *target_json(const struct selector *s)
{
	const char *container = s->processes[SELECTOR_CONTAINER], *pod = s->processes[SELECTOR_POD];

	if (!*container && !*pod)
		return json_pack("{s:s}", "kind", "node");
	return json_pack("{s:s,s:s}", "kind", *container ? "container" : "pod", "text",
			 *container ? container : pod);
}

static void start_recording(struct node_request *q, const struct fleet_request *r,
			    const struct selector *s)
{
	auto_free char *name = xasprintf("fleet%s%s", *r->reason ? ": " : "", r->reason);
	json_t *j =
		json_pack("{s:s,s:i,s:i,s:s,s:o}", "events", r->events, "rate_hz", (int)r->hz,
			  "duration_s", (int)r->duration_s, "name", name, "target", target_json(s));
	auto_free char *body = j ? json_dumps(j, JSON_COMPACT) : NULL;

	json_decref(j);
	q->look_ns = time_mono_ns() + r->duration_s * NS_PER_SEC;
	q->give_up_ns = q->look_ns + ENDING_NS;
	if (body) {
		fetch(q->node,
		      (struct http_request){ .path = "/api/v1/sessions",
					     .json = body,
					     .max_bytes = ANSWER_BYTES,
					     .timeout_s = ASK_S },
		      take_start, q);
		return;
	}
	answer(q->node, q->id, VERDICT_POLICY, "The request is no text.", q->busy_ppm);
	drop(q);
}

static void take_file(struct node_request *q)
{
	auto_free char *path =
		xasprintf("/p/%llu/download?format=sflm", (unsigned long long)q->session);

	fetch(q->node,
	      (struct http_request){
		      .path = path, .max_bytes = FLEET_BLOB_MAX, .timeout_s = RESULT_S },
	      take_profile, q);
}

/* Takes the daemon's answer about the profile: it exists, or does not yet. */
static void take_facts(void *ctx, const struct http_answer *r)
{
	struct node_request *q = ctx;
	json_t *j = r->found.status == 200 ? json_of(r) : NULL;
	const char *state = json_string_value(json_object_get(j, "state"));
	const char *error = json_string_value(json_object_get(j, "error"));

	if (state && !strcmp(state, "failed")) {
		end(q, VERDICT_FAILED, error && *error ? error : "The recording failed.", NULL);
	} else if (state) {
		q->samples = number(j, "samples", INT64_MAX);
		q->lost = number(j, "lost", INT64_MAX);
		q->covered_ms = number(j, "duration_ms", INT64_MAX);
		take_file(q);
	} else if (time_mono_ns() < q->give_up_ns) {
		q->look_ns = time_mono_ns() + LOOK_NS;
	} else {
		end_by_fault(q, r);
	}
	json_decref(j);
}

static void look(struct node_request *q)
{
	auto_free char *path = xasprintf("/api/v1/profiles/%llu", (unsigned long long)q->session);

	q->look_ns = 0;
	fetch(q->node,
	      (struct http_request){
		      .path = path, .max_bytes = ANSWER_BYTES * 4, .timeout_s = ASK_S },
	      take_facts, q);
}

/*
 * Whether the service runs on the node, by its slices. Without slices it counts as running, and its
 * samples decide later.
 */
static bool runs(const struct http_node *n, const char *service)
{
	vec_each(one, &n->services)
		if (!strcmp(one->name, service))
			return true;
	return !*service || !n->services.nr;
}

/*
 * The rules of a node over NATS, without a budget and a limit of requests at a time: the daemon
 * has its own, and checks role and rights.
 */
static enum verdict check(const struct http_node *n, const struct fleet_request *r,
			  const struct selector *s, struct str *why)
{
	static const struct fleet_key owner = { .role = FLEET_OPERATOR };

	if (!selector_admits(s, n->labels)) {
		str_add(why, "The node's labels do not match.");
		return VERDICT_NO_MATCH;
	}
	if (!*n->why && !runs(n, s->processes[SELECTOR_SERVICE])) {
		str_add(why, "No such process runs here.");
		return VERDICT_NO_MATCH;
	}
	if (!sampling_takes(&r->sampling, n->name, busy_ppm(n, r, s))) {
		str_add(why, "The request did not choose this node.");
		return VERDICT_NO_MATCH;
	}
	if (*n->why) {
		str_add(why, n->why);
		return VERDICT_FAILED;
	}
	if (r->want == WANT_AUDIT) {
		str_add(why, "That takes NATS.");
		return VERDICT_POLICY;
	}
	if (r->want == WANT_RECORDING && !n->has_recorder) {
		str_add(why, "The recorder does not run at the moment.");
		return VERDICT_FAILED;
	}
	return policy_allows(r, s, &owner, &n->caps, why);
}

void http_fleet_request(struct http_fleet *f, const struct fleet_request *r)
{
	auto_str struct str fault = { 0 };
	struct selector s;

	if (selector_parse(r->selector, &s, &fault))
		return;
	for (u32 i = 0; i < f->nr_nodes; i++) {
		struct http_node *n = &f->nodes[i];
		auto_str struct str why = { 0 };
		enum verdict v = check(n, r, &s, &why);
		if (v || r->want == WANT_CENSUS) {
			answer(n, r->id, v, why.at ?: "", busy_ppm(n, r, &s));
			continue;
		}
		struct node_request *q = xcalloc(1, sizeof(*q));
		q->node = n;
		q->busy_ppm = busy_ppm(n, r, &s);
		memcpy(q->id, r->id, sizeof(q->id));
		vec_push(&f->requests, q);
		if (r->want == WANT_RECORDING)
			start_recording(q, r, &s);
		else
			start_slices(q, r, &s);
	}
}

void http_fleet_stop(struct http_fleet *f, const u8 *id)
{
	for (size_t i = f->requests.nr; i-- > 0;)
		if (!memcmp(f->requests.at[i]->id, id, FLEET_ID_LEN))
			stop(f->requests.at[i]);
}

void http_fleet_step(struct http_fleet *f, http_message_fn hand, void *ctx)
{
	u64 now = time_mono_ns();

	http_client_step(f->client);
	for (size_t i = f->requests.nr; i-- > 0;) {
		struct node_request *q = f->requests.at[i];
		if (q->session && q->look_ns && now >= q->look_ns)
			look(q);
	}
	for (size_t i = 0; i < f->letters.nr; i++) {
		struct letter l = f->letters.at[i]; /* the array may move meanwhile */
		hand(ctx, l.message, l.result);
		letter_free(&l);
	}
	f->letters.nr = 0;
}
