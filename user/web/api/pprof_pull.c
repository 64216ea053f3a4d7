/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles for clients that ask like for Go's net/http/pprof: a recording of some seconds that is
 * not stored. Part of web/api/api.h.
 */
#include <errno.h>
#include <string.h>

#include "web/api/api.h"
#include "web/http/route.h"
#include "web/recordings/service.h"
#include "web/recordings/sessions.h"

#define SECONDS_DEFAULT 30
#define HZ_DEFAULT      99

struct pull_kind {
	const char *path, *events, *filename;
};

static const struct pull_kind kinds[] = {
	{ "debug/pprof/profile", "cpu", "profile" },
	{ "debug/pprof/allocs", "alloc", "allocs-delta" },
	{ "debug/pprof/block", "offcpu", "block-delta" },
	{ "debug/pprof/mutex", "lock", "mutex-delta" },
};

struct filter {
	const char *name;
	enum control_target target;
};

static const struct filter filters[] = {
	{ "pid", CONTROL_TARGET_PID },   { "container", CONTROL_TARGET_CONTAINER },
	{ "comm", CONTROL_TARGET_COMM }, { "user", CONTROL_TARGET_USER },
	{ "pod", CONTROL_TARGET_POD },   { "cgroup", CONTROL_TARGET_CGROUP },
};

static size_t kind_of(const struct request *q)
{
	size_t i = 0;

	while (strcmp(kinds[i].path, q->route->pattern))
		i++;
	return i;
}

static void answered(void *ctx, int err, const char *why, u64 id)
{
	struct request *q = ctx;

	if (err == -EPIPE)
		reply_error(q, ERROR_RECORDER_DOWN, NULL, "%s", why);
	else if (err)
		reply_error(q, ERROR_BAD_REQUEST, NULL, "%s", why);
}

static void pulled(void *ctx, int err, struct payload *result)
{
	struct request *q = ctx;
	const struct reply_form form = { .type = "application/octet-stream",
					 .filename = kinds[kind_of(q)].filename };

	if (err == -ENODATA)
		reply_error(q, ERROR_NOT_SUPPORTED, NULL, "There were no samples in this time.");
	else if (err == -ECONNRESET)
		reply_error(q, ERROR_RECORDER_DOWN, NULL,
			    "The recorder ended before the recording did.");
	else if (err)
		reply_job_error(q, err, result, "make the profile");
	else
		reply_payload(q, result, &form);
}

/* Nobody else wants the recording. */
static void give_up(struct request *q)
{
	struct session *s;

	for (size_t i = 0; (s = sessions_at(q->service->sessions, i)); i++)
		if (s->pulled && s->ctx == q && sessions_discard(s))
			q->on_hangup = give_up; /* again */
}

static bool take_filter(struct request *q, struct control_start *start)
{
	const char *text = NULL, *other;

	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		other = NULL;
		if (!request_query_text(q, filters[i].name, sizeof(start->target_text) - 1, &other))
			return false;
		if (!other)
			continue;
		if (text || !*other) {
			reply_error(q, ERROR_BAD_REQUEST, filters[i].name,
				    "Use one filter, with a value.");
			return false;
		}
		text = other;
		start->target = filters[i].target;
	}
	if (text)
		copy_text(start->target_text, sizeof(start->target_text), text);
	u64 pid = 1;
	return request_query_u64(q, "pid", 1, 4194304, &pid);
}

void api_pprof(struct request *q)
{
	const struct control_caps *caps = &q->service->recorder.caps;
	size_t kind = kind_of(q);
	u64 seconds = 0, hz = HZ_DEFAULT < caps->max_hz ? HZ_DEFAULT : caps->max_hz;
	struct session_order o = {
		.name = "",
		.who = request_who(q),
		.answer = answered,
		.pull_format = "pprof",
		.pulled = pulled,
		.ctx = q,
	};

	if (!q->service->recorder.is_up) {
		reply_error(q, ERROR_RECORDER_DOWN, NULL, "There is no recorder at the moment.");
		return;
	}
	if (!request_query_u64(q, "seconds", 0, caps->max_duration_s, &seconds) ||
	    !request_query_u64(q, "hz", 1, caps->max_hz, &hz) || !take_filter(q, &o.start))
		return;
	if (!seconds && kind) {
		reply_error(q, ERROR_BAD_REQUEST, "seconds",
			    "Nothing is cumulative here: add seconds=N. Scrapers do so for delta "
			    "profiles: \"delta: true\" in Parca and in Alloy's pyroscope.scrape.");
		return;
	}
	o.start.rate_hz = (u32)hz;
	o.start.duration_s = seconds ? (u32)seconds : SECONDS_DEFAULT;
	if (o.start.duration_s > caps->max_duration_s)
		o.start.duration_s = caps->max_duration_s;
	copy_text(o.start.events, sizeof(o.start.events), kinds[kind].events);
	int err = sessions_start(q->service->sessions, &o);
	if (err)
		reply_error(q, err == -EPIPE ? ERROR_RECORDER_DOWN : ERROR_BUSY, NULL,
			    "As many recordings run as may, or the recorder is busy.");
	else
		request_await(q);
	q->on_hangup = give_up;
}
