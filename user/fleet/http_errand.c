/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings and slices of a node, by its HTTP API.
 * Part of fleet/http_node.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/auto.h"
#include "base/time.h"
#include "fleet/http_node.h"

#define ANSWER_BYTES (64u << 10)
#define ASK_S        15
#define RESULT_S     60
#define LOOK_NS      (500 * NS_PER_MS)

static void drop(struct http_errand *e)
{
	struct http_node *n = e->node;
	size_t kept = 0;

	vec_each(one, &n->errands)
		if (*one != e)
			n->errands.at[kept++] = *one;
	n->errands.nr = kept;
	free(e);
}

static void end(struct http_errand *e, enum verdict v, const char *why, const struct fetched *r)
{
	const struct member_result result = { .verdict = v,
					      .why = why,
					      .bytes = r ? r->bytes : NULL,
					      .len = r ? r->len : 0,
					      .samples = e->samples,
					      .lost = e->lost,
					      .profile = e->session,
					      .covered_ms = e->covered_ms };

	member_ended(e->node->member, e->number, &result);
	drop(e);
}

static void end_by_fault(struct http_errand *e, const struct fetched *r)
{
	auto_str struct str why = { 0 };

	http_add_fault(&why, r);
	end(e, VERDICT_FAILED, why.at, NULL);
}

/* The profile of slices, or of a recording. */
static void take_profile(void *ctx, const struct fetched *r)
{
	struct http_errand *e = ctx;

	if (r->status != 200 || !r->len)
		end_by_fault(e, r);
	else
		end(e, VERDICT_ACCEPT, "", r);
}

static void add_query(struct str *path, const char *key, const char *value)
{
	if (!*value)
		return;
	str_addf(path, "%c%s=", strchr(path->at, '?') ? '&' : '?', key);
	address_add(path, value);
}

/* A namespace is left to the merge: the API does not take it. */
static void start_slices(struct http_errand *e, const struct member_work *w)
{
	u64 to_ms = time_wall_ns() / NS_PER_MS - w->request->ago_s * 1000ull;
	auto_str struct str path = { 0 };

	str_addf(&path, "/s/%llu-%llu/page",
		 (unsigned long long)(to_ms - w->request->duration_s * 1000ull),
		 (unsigned long long)to_ms);
	add_query(&path, "event", w->request->events);
	add_query(&path, "service", w->selector->processes[SELECTOR_SERVICE]);
	add_query(&path, "container", w->selector->processes[SELECTOR_CONTAINER]);
	add_query(&path, "pod", w->selector->processes[SELECTOR_POD]);
	const struct fetch_request r = { .path = path.at,
					 .max_bytes = FLEET_BLOB_MAX,
					 .timeout_s = RESULT_S };
	member_started(e->node->member, e->number, VERDICT_ACCEPT, "");
	http_fetch(e->node, &r, take_profile, e);
}

static enum verdict verdict_of(const struct fetched *r)
{
	return r->status == 429 || r->status == 503 ? VERDICT_BUSY
	       : r->status / 100 == 4               ? VERDICT_POLICY
						    : VERDICT_FAILED;
}

static void take_start(void *ctx, const struct fetched *r)
{
	struct http_errand *e = ctx;
	auto_str struct str why = { 0 };
	json_t *j = r->status == 201 ? http_json(r) : NULL;
	json_int_t id = json_integer_value(json_object_get(j, "id"));

	json_decref(j);
	if (id > 0) {
		e->session = (u64)id;
		member_started(e->node->member, e->number, VERDICT_ACCEPT, "");
		if (e->is_stopped)
			http_errand_stop(e->node, e->number);
		return;
	}
	http_add_fault(&why, r);
	member_started(e->node->member, e->number, verdict_of(r), why.at);
	drop(e);
}

static json_t *target_json(const struct selector *s)
{
	const char *container = s->processes[SELECTOR_CONTAINER], *pod = s->processes[SELECTOR_POD];

	if (!*container && !*pod)
		return json_pack("{s:s}", "kind", "node");
	return json_pack("{s:s,s:s}", "kind", *container ? "container" : "pod", "text",
			 *container ? container : pod);
}

static void start_recording(struct http_errand *e, const struct member_work *w)
{
	const struct fleet_request *q = w->request;
	auto_free char *name = xasprintf("fleet%s%s", *q->reason ? ": " : "", q->reason);
	json_t *j = json_pack("{s:s,s:i,s:i,s:s,s:o}", "events", q->events, "rate_hz", (int)q->hz,
			      "duration_s", (int)q->duration_s, "name", name, "target",
			      target_json(w->selector));
	auto_free char *body = j ? json_dumps(j, JSON_COMPACT) : NULL;
	const struct fetch_request r = { .path = "/api/v1/sessions",
					 .body = body,
					 .max_bytes = ANSWER_BYTES,
					 .timeout_s = ASK_S };
	u64 now = time_mono_ns();

	json_decref(j);
	e->look_ns = now + q->duration_s * NS_PER_SEC;
	e->give_up_ns = e->look_ns + MEMBER_ENDING_S * NS_PER_SEC;
	if (body) {
		http_fetch(e->node, &r, take_start, e);
		return;
	}
	member_started(e->node->member, e->number, VERDICT_POLICY, "The request is no text.");
	drop(e);
}

static void take_file(struct http_errand *e)
{
	auto_free char *path =
		xasprintf("/p/%llu/download?format=sflm", (unsigned long long)e->session);
	const struct fetch_request r = { .path = path,
					 .max_bytes = FLEET_BLOB_MAX,
					 .timeout_s = RESULT_S };

	http_fetch(e->node, &r, take_profile, e);
}

static u64 number(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (u64)n : 0;
}

/* Its profile is there, or not yet. */
static void take_facts(void *ctx, const struct fetched *r)
{
	struct http_errand *e = ctx;
	json_t *j = r->status == 200 ? http_json(r) : NULL;
	const char *state = json_string_value(json_object_get(j, "state"));
	const char *error = json_string_value(json_object_get(j, "error"));

	if (state && !strcmp(state, "failed")) {
		end(e, VERDICT_FAILED, error && *error ? error : "The recording failed.", NULL);
	} else if (state) {
		e->samples = number(j, "samples");
		e->lost = number(j, "lost");
		e->covered_ms = number(j, "duration_ms");
		take_file(e);
	} else if (time_mono_ns() < e->give_up_ns) {
		e->look_ns = time_mono_ns() + LOOK_NS;
	} else {
		end_by_fault(e, r);
	}
	json_decref(j);
}

static void look(struct http_errand *e)
{
	auto_free char *path = xasprintf("/api/v1/profiles/%llu", (unsigned long long)e->session);
	const struct fetch_request r = { .path = path,
					 .max_bytes = ANSWER_BYTES * 4,
					 .timeout_s = ASK_S };

	e->look_ns = 0;
	http_fetch(e->node, &r, take_facts, e);
}

void http_errands_tick(struct http_node *n, u64 now_ns)
{
	for (size_t i = n->errands.nr; i-- > 0;) {
		struct http_errand *e = n->errands.at[i];
		if (e->session && e->look_ns && now_ns >= e->look_ns)
			look(e);
	}
}

static void take_stop(void *ctx, const struct fetched *r)
{
	/* Whatever it answers: its profile is looked for. */
}

void http_errand_stop(void *ctx, u32 number)
{
	struct http_node *n = ctx;

	vec_each(at, &n->errands) {
		struct http_errand *e = *at;
		if (e->number != number)
			continue;
		e->is_stopped = true;
		if (!e->session)
			return;
		auto_free char *path =
			xasprintf("/api/v1/sessions/%llu/stop", (unsigned long long)e->session);
		const struct fetch_request r = {
			.path = path, .body = "{}", .max_bytes = ANSWER_BYTES, .timeout_s = ASK_S
		};
		http_fetch(n, &r, take_stop, NULL);
		if (e->look_ns)
			e->look_ns = time_mono_ns() + LOOK_NS;
		return;
	}
}

void http_errand_start(void *ctx, const struct member_work *w)
{
	struct http_node *n = ctx;
	struct http_errand *e = xcalloc(1, sizeof(*e));

	e->node = n;
	e->number = w->number;
	vec_push(&n->errands, e);
	if (w->request->want == WANT_RECORDING) {
		start_recording(e, w);
	} else if (w->request->want == WANT_SLICES) {
		start_slices(e, w);
	} else {
		member_started(n->member, e->number, VERDICT_POLICY, "That takes NATS.");
		drop(e);
	}
}
