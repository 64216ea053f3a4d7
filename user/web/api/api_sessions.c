/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings that run. Part of web/api/api.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "web/api/api.h"
#include "web/http/request.h"
#include "web/jobs/queue.h"
#include "web/recordings/service.h"
#include "web/recordings/sessions.h"

#define NAME_MAX_BYTES 200
#define PID_LIMIT      4194304 /* PID_MAX_LIMIT */

static const char *const target_kinds[NR_CONTROL_TARGETS] = {
	[CONTROL_TARGET_NODE] = "node",           [CONTROL_TARGET_PID] = "pid",
	[CONTROL_TARGET_COMM] = "comm",           [CONTROL_TARGET_USER] = "user",
	[CONTROL_TARGET_JVMS] = "jvms",           [CONTROL_TARGET_CGROUP] = "cgroup",
	[CONTROL_TARGET_CONTAINER] = "container", [CONTROL_TARGET_POD] = "pod",
};

static json_t *session_json(const struct session *s)
{
	static const char *const states[NR_CONTROL_STATES] = { "begins", "runs", "ends" };
	const struct control_state *st = &s->state;
	u64 elapsed = st->elapsed_ns ?: time_mono_ns() - s->asked_mono_ns;

	json_t *o = json_pack(
		"{s:I,s:s,s:s,s:{s:s,s:s},s:i,s:i,s:I,s:s}", "id", (json_int_t)s->id, "name",
		s->name, "events", s->start.events, "target", "kind", target_kinds[s->start.target],
		"text", s->start.target_text, "rate_hz", (int)s->start.rate_hz, "duration_s",
		(int)s->start.duration_s, "elapsed_ms", (json_int_t)(elapsed / NS_PER_MS), "state",
		s->is_ended || s->stopped_mono_ns ? "ends" : states[st->state]);
	json_t *more = json_pack(
		"{s:I,s:I,s:I,s:i,s:i,s:s,s:s,s:I,s:b}", "samples", (json_int_t)st->samples, "lost",
		(json_int_t)st->lost, "truncated", (json_int_t)st->truncated, "jvms", (int)st->jvms,
		"jvms_refused", (int)st->jvms_refused, "refusals", st->refusals, "event", st->event,
		"parts", (json_int_t)s->nr_received, "kept", !*s->pull_format);
	json_object_update(o, more);
	json_decref(more);
	return o;
}

json_t *sessions_json(const struct service *sv)
{
	json_t *list = json_array();
	const struct session *s;

	for (size_t i = 0; (s = sessions_at(sv->sessions, i)); i++)
		if (!s->is_over && !s->is_discarded && s->asked_mono_ns)
			json_array_append_new(list, session_json(s));
	return list;
}

void api_sessions(struct request *q)
{
	reply_json(q, 200, sessions_json(q->service));
}

static enum api_error refusal(int err)
{
	switch (err) {
	case -EBUSY:
	case -EAGAIN:
		return ERROR_BUSY;
	case -ERANGE:
		return ERROR_OUT_OF_RANGE;
	case -EPIPE:
		return ERROR_RECORDER_DOWN;
	case -EINVAL:
		return ERROR_BAD_REQUEST;
	case -ESRCH:
		return ERROR_UNKNOWN_ID;
	default:
		return ERROR_NOT_SUPPORTED;
	}
}

static void answered(void *ctx, int err, const char *why, u64 id)
{
	struct request *q = ctx;

	if (err)
		reply_error(q, refusal(err), err == -ESRCH ? "target" : NULL, "%s", why);
	else
		reply_id(q, id);
}

/* Fills kind and text of the target. */
static bool take_target(struct request *q, struct control_start *start)
{
	static const char *const known[] = { "kind", "text", NULL };
	const json_t *target = json_object_get(q->json, "target");
	const char *kind = "node", *text = "";

	if (target && !json_is_object(target)) {
		reply_error(q, ERROR_BAD_REQUEST, "target", "\"target\" must be an object.");
		return false;
	}
	if (!fields_are_known(q, target, known) || !field_text(q, target, "kind", 32, &kind) ||
	    !field_text(q, target, "text", sizeof(start->target_text) - 1, &text))
		return false;
	while (start->target < NR_CONTROL_TARGETS && strcmp(target_kinds[start->target], kind))
		start->target++;
	bool is_all = start->target == CONTROL_TARGET_NODE || start->target == CONTROL_TARGET_JVMS;
	size_t digits = strspn(text, "0123456789");
	if (start->target == NR_CONTROL_TARGETS) {
		reply_error(q, ERROR_BAD_REQUEST, "target", "There is no kind of target \"%s\".",
			    kind);
		return false;
	}
	if (start->target == CONTROL_TARGET_PID &&
	    (!digits || digits > 7 || text[digits] || atol(text) < 1 || atol(text) > PID_LIMIT)) {
		reply_error(q, ERROR_OUT_OF_RANGE, "target",
			    "\"target.text\" must be a PID between 1 and %d.", PID_LIMIT);
		return false;
	}
	if (is_all == (*text != '\0')) {
		reply_error(q, ERROR_BAD_REQUEST, "target",
			    is_all ? "A target of this kind has no text."
				   : "\"target.text\" must say which one.");
		return false;
	}
	copy_text(start->target_text, sizeof(start->target_text), text);
	return true;
}

static bool take_start(struct request *q, struct session_order *o)
{
	static const char *const known[] = { "events",     "target", "rate_hz",
					     "duration_s", "name",   NULL };
	const struct control_caps *caps = &q->service->recorder.caps;
	const char *events = "cpu";
	u64 hz = 99 < caps->max_hz ? 99 : caps->max_hz, seconds = 0;

	if (!fields_are_known(q, q->json, known) ||
	    !field_text(q, q->json, "events", sizeof(o->start.events) - 1, &events) ||
	    !field_u64(q, q->json, "rate_hz", 1, caps->max_hz, &hz) ||
	    !field_u64(q, q->json, "duration_s", 0, caps->max_duration_s, &seconds) ||
	    !field_text(q, q->json, "name", NAME_MAX_BYTES, &o->name) || !take_target(q, &o->start))
		return false;
	if (!*events) {
		reply_error(q, ERROR_BAD_REQUEST, "events", "\"events\" must name an event.");
		return false;
	}
	copy_text(o->start.events, sizeof(o->start.events), events);
	o->start.rate_hz = (u32)hz;
	o->start.duration_s = (u32)seconds;
	return true;
}

void api_start(struct request *q)
{
	struct session_order o = {
		.name = "", .who = request_who(q), .answer = answered, .ctx = q
	};

	if (!q->service->recorder.is_up) {
		reply_error(q, ERROR_RECORDER_DOWN, NULL, "There is no recorder at the moment.");
		return;
	}
	if (!take_start(q, &o))
		return;
	int err = sessions_start(q->service->sessions, &o);
	if (err)
		reply_error(q, refusal(err), NULL,
			    err == -EBUSY ? "As many recordings run as may: stop one first."
					  : "The recorder does not answer.");
	else
		request_await(q);
}

static struct session *find(struct request *q)
{
	struct session *s = sessions_find(q->service->sessions, q->id);

	if (s && !s->is_discarded && !s->is_over)
		return s;
	reply_error(q, ERROR_UNKNOWN_ID, NULL, "No recording %llu runs.",
		    (unsigned long long)q->id);
	return NULL;
}

static void finish(struct request *q, int (*run)(struct session *s), const char *doing)
{
	struct session *s = find(q);
	int err = s ? run(s) : 0;

	if (err)
		reply_error(q, ERROR_BUSY, NULL, "Could not %s the recording now.", doing);
	if (!s || err)
		return;
	auto_free char *what = xasprintf("%s recording %llu", doing, (unsigned long long)q->id);
	store_audit(q->service->store, request_who(q), what);
	reply_json(q, 200, json_object());
}

void api_stop(struct request *q)
{
	finish(q, sessions_stop, "stop");
}

void api_discard(struct request *q)
{
	finish(q, sessions_discard, "discard");
}

static void previewed(void *ctx, int err, struct payload *result)
{
	static const struct reply_form form = { .type = "text/html; charset=utf-8",
						.policy = POLICY_PAGE };

	if (err)
		reply_job_error(ctx, err, result, "show the recording so far");
	else
		reply_payload(ctx, result, &form);
}

void api_preview(struct request *q)
{
	struct session *s = find(q);

	if (!s)
		return;
	if (!s->nr_parts) {
		reply_error(q, ERROR_UNKNOWN_ID, NULL, "The recording has no part yet.");
		return;
	}
	/*
	 * A number of parts is fixed first: parts that are joined during the read would be read
	 * twice.
	 */
	const struct input in = { .store = q->service->store, .kind = INPUT_PARTS, .id = s->id };
	auto_free char *key =
		xasprintf("preview %llu %u", (unsigned long long)s->id, s->nr_received);
	if (queue_join(q->service->queue, key, previewed, q)) {
		request_await(q);
		return;
	}
	struct job_order order = {
		.task = WEB_CONVERT,
		.params = { .nr_inputs = s->nr_parts, .format = "html" },
		.fds = { input_file(&in, 0), -1 },
		.open = input_open,
		.open_ctx = input_new(&in),
		.key = key,
		.done = previewed,
		.ctx = q,
	};
	copy_text(order.params.title, sizeof(order.params.title), s->name);
	int err = queue_add(q->service->queue, &order);
	if (err)
		reply_errno(q, err, "show the recording so far");
	else
		request_await(q);
}
