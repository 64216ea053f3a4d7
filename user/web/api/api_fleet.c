/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a fleet. Part of web/api/api.h. */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "fleet/wire/selector.h"
#include "web/api/api.h"
#include "web/fleet/fleet_history.h"
#include "web/fleet/fleet_requests.h"
#include "web/http/request.h"
#include "web/http/site.h"
#include "web/recordings/service.h"

#define HZ_MAX       10000
#define DURATION_MAX 3600
#define AGO_MAX      (30ull * 24 * 3600)
#define NODES_MAX    GATHER_NODES_MAX
#define SAMPLES_MAX  1000000000ull

#define HISTORY_AGO_MAX (10ull * 366 * 24 * 3600)
#define LABEL_LETTERS   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

static bool has_fleet(struct request *q)
{
	if (q->service->requests)
		return true;
	reply_error(q, ERROR_NOT_SUPPORTED, NULL,
		    "This daemon asks no fleet: sysflame fleet serve does.");
	return false;
}

json_t *fleet_json(const struct service *sv)
{
	return sv->requests ? fleet_requests_json(sv->requests) : NULL;
}

void api_fleet(struct request *q)
{
	if (!has_fleet(q))
		return;
	fleet_requests_watched(q->service->requests);
	reply_json(q, 200, fleet_requests_json(q->service->requests));
}

void api_fleet_nodes(struct request *q)
{
	if (!has_fleet(q))
		return;
	fleet_requests_watched(q->service->requests);
	reply_json(q, 200, fleet_requests_nodes(q->service->requests));
}

void api_fleet_services(struct request *q)
{
	if (!has_fleet(q))
		return;
	fleet_requests_watched(q->service->requests);
	reply_json(q, 200, fleet_requests_services(q->service->requests));
}

/* *Reads a percentage into *share, which stays 0 if the field is missing. */
static bool take_percent(struct request *q, const char *name, double *share)
{
	const json_t *value = json_object_get(q->json, name);

	if (!value)
		return true;
	if (!json_is_number(value) || !(json_number_value(value) > 0) ||
	    json_number_value(value) > 100) {
		reply_error(q, ERROR_OUT_OF_RANGE, name, "\"%s\" must be above 0, and at most 100.",
			    name);
		return false;
	}
	*share = json_number_value(value) / 100;
	return true;
}

/* How many nodes: at most one of the four fields. */
static bool take_choice(struct request *q, struct controller_order *o)
{
	u64 nodes = 0, samples = 0;

	if (!field_u64(q, q->json, "nodes", 1, NODES_MAX, &nodes) ||
	    !field_u64(q, q->json, "samples", 1, SAMPLES_MAX, &samples) ||
	    !take_percent(q, "share_percent", &o->share) ||
	    !take_percent(q, "within_percent", &o->within) ||
	    !field_bool(q, q->json, "confirmed", &o->is_confirmed))
		return false;
	if (!!nodes + !!samples + (o->share > 0) + (o->within > 0) > 1) {
		reply_error(q, ERROR_BAD_REQUEST, NULL,
			    "\"nodes\", \"share_percent\", \"samples\" and \"within_percent\" "
			    "exclude each other.");
		return false;
	}
	o->nr_nodes = (double)nodes;
	o->nr_samples = (double)samples;
	return true;
}

static bool take_selector(struct request *q, struct controller_order *o)
{
	const char *text = "";
	auto_str struct str why = { 0 };
	struct selector s;

	if (!field_text(q, q->json, "select", sizeof(o->selector) - 1, &text))
		return false;
	if (selector_parse(text, &s, &why)) {
		reply_error(q, ERROR_BAD_REQUEST, "select", "\"select\": %s.", why.at);
		return false;
	}
	copy_text(o->selector, sizeof(o->selector), text);
	return true;
}

static bool take_order(struct request *q, struct controller_order *o)
{
	static const char *const known[] = { "select",     "events",        "rate_hz",
					     "duration_s", "ago_s",         "nodes",
					     "samples",    "share_percent", "within_percent",
					     "reason",     "confirmed",     NULL };
	const char *events = "cpu", *reason = "";
	u64 hz = 99, seconds = 30, ago = 0;

	if (!fields_are_known(q, q->json, known) || !take_selector(q, o) ||
	    !field_text(q, q->json, "events", sizeof(o->events) - 1, &events) ||
	    !field_text(q, q->json, "reason", sizeof(o->reason) - 1, &reason) ||
	    !field_u64(q, q->json, "rate_hz", 1, HZ_MAX, &hz) ||
	    !field_u64(q, q->json, "duration_s", 1, DURATION_MAX, &seconds) ||
	    !field_u64(q, q->json, "ago_s", 0, AGO_MAX, &ago) || !take_choice(q, o))
		return false;
	if (!*events) {
		reply_error(q, ERROR_BAD_REQUEST, "events", "\"events\" must name an event.");
		return false;
	}
	o->want = json_object_get(q->json, "ago_s") ? WANT_SLICES : WANT_RECORDING;
	o->hz = (u32)hz;
	o->duration_s = (u32)seconds;
	o->ago_s = (u32)ago;
	copy_text(o->events, sizeof(o->events), events);
	copy_text(o->reason, sizeof(o->reason), reason);
	return true;
}

/* A query of the store of history. */
static bool take_history(struct request *q, struct history_order *o, const char **reason)
{
	static const char *const known[] = { "source", "select", "events", "duration_s",
					     "ago_s",  "by",     "reason", NULL };
	const char *select = "", *event = "cpu", *by = "";
	u64 seconds = 3600, ago = 0, now_ms = time_wall_ns() / NS_PER_MS;

	if (!fields_are_known(q, q->json, known) ||
	    !field_text(q, q->json, "select", sizeof(o->selector) - 1, &select) ||
	    !field_text(q, q->json, "events", sizeof(o->event) - 1, &event) ||
	    !field_text(q, q->json, "by", sizeof(o->by) - 1, &by) ||
	    !field_text(q, q->json, "reason", 127, reason) ||
	    !field_u64(q, q->json, "duration_s", 60, HISTORY_MAX_MS / 1000, &seconds) ||
	    !field_u64(q, q->json, "ago_s", 0, HISTORY_AGO_MAX, &ago))
		return false;
	if (*by && strspn(by, LABEL_LETTERS) != strlen(by)) {
		reply_error(q, ERROR_BAD_REQUEST, "by", "\"by\" must be the name of a label.");
		return false;
	}
	copy_text(o->selector, sizeof(o->selector), select);
	copy_text(o->event, sizeof(o->event), event);
	copy_text(o->by, sizeof(o->by), by);
	o->to_ms = now_ms - ago * 1000;
	o->from_ms = o->to_ms - seconds * 1000;
	return true;
}

static void start_history(struct request *q)
{
	auto_str struct str why = { 0 };
	struct history_order o = { 0 };
	const char *reason = "";
	u64 id = 0;

	if (!fleet_requests_have_history(q->service->requests)) {
		reply_error(q, ERROR_NOT_SUPPORTED, "source",
			    "This page has no store of history: see fleet serve --history.");
		return;
	}
	if (!take_history(q, &o, &reason))
		return;
	int err = fleet_requests_read(q->service->requests, &o, reason, request_who(q), &id, &why);
	if (err) {
		reply_error(q, err == -EBUSY ? ERROR_BUSY : ERROR_BAD_REQUEST, NULL, "%s",
			    err == -EBUSY ? "Two requests run already: stop one first."
					  : why.at ?: "The store cannot be asked.");
		return;
	}
	auto_free char *what =
		xasprintf("read history: %s, %s, %llu s", *o.selector ? o.selector : "all", o.event,
			  (unsigned long long)(o.to_ms - o.from_ms) / 1000);
	store_audit(q->service->store, request_who(q), what);
	reply_id(q, id);
}

static bool wants_history(const struct request *q)
{
	const char *source = json_string_value(json_object_get(q->json, "source"));

	return source && !strcmp(source, "history");
}

void api_fleet_start(struct request *q)
{
	struct controller_order o = { .has_waves = true, .watch_s = CONTROLLER_WATCH_S };
	u64 id = 0;

	if (!has_fleet(q))
		return;
	if (wants_history(q)) {
		start_history(q);
		return;
	}
	if (!take_order(q, &o))
		return;
	int err = fleet_requests_start(q->service->requests, &o, request_who(q), &id);
	if (err) {
		reply_error(q, err == -EBUSY ? ERROR_BUSY : ERROR_RECORDER_DOWN, NULL,
			    err == -EBUSY      ? "Two requests run already: stop one first."
			    : err == -ENOTCONN ? "There is no connection to NATS at the moment."
					       : "The request cannot be signed.");
		return;
	}
	auto_free char *what = xasprintf("ask the fleet: %s of %s, %s, %u s",
					 o.want == WANT_SLICES ? "slices" : "recording",
					 *o.selector ? o.selector : "all", o.events, o.duration_s);
	store_audit(q->service->store, request_who(q), what);
	reply_id(q, id);
}

void api_fleet_stop(struct request *q)
{
	if (!has_fleet(q))
		return;
	if (fleet_requests_stop(q->service->requests, q->id)) {
		reply_error(q, ERROR_UNKNOWN_ID, NULL, "No request %llu runs.",
			    (unsigned long long)q->id);
		return;
	}
	auto_free char *what =
		xasprintf("stop request %llu to the fleet", (unsigned long long)q->id);
	store_audit(q->service->store, request_who(q), what);
	reply_json(q, 200, json_object());
}

static void previewed(void *ctx, int err, struct payload *result)
{
	static const struct reply_form form = { .type = "text/html; charset=utf-8",
						.policy = POLICY_PAGE };

	if (err)
		reply_job_error(ctx, err, result, "show the results so far");
	else
		reply_payload(ctx, result, &form);
}

void api_fleet_preview(struct request *q)
{
	struct payload *bytes = NULL;
	u32 nr = 0;

	if (!has_fleet(q))
		return;
	u64 profile = fleet_requests_profile(q->service->requests, q->id);
	if (profile) {
		auto_free char *page =
			xasprintf("%s/p/%llu/page", q->site->prefix, (unsigned long long)profile);
		reply_redirect(q, page, NULL);
		return;
	}
	if (fleet_requests_preview(q->service->requests, q->id, &bytes, &nr)) {
		reply_error(q, ERROR_UNKNOWN_ID, NULL, "No result has been merged yet.");
		return;
	}
	auto_free char *key = xasprintf("fleet %llu %u", (unsigned long long)q->id, nr);
	struct job_order order = {
		.task = WEB_CONVERT,
		.params = { .nr_inputs = 1, .format = "html" },
		.fds = { payload_file(bytes), -1 },
		.key = key,
		.done = previewed,
		.ctx = q,
	};
	payload_put(bytes);
	copy_text(order.params.title, sizeof(order.params.title), "Results so far");
	int err = order.fds[0] < 0 ? order.fds[0] : queue_add(q->service->queue, &order);
	if (err)
		reply_errno(q, err, "show the results so far");
	else
		request_await(q);
}
