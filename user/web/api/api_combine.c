/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles made of others: comparisons, and kept time ranges. Part of web/api/api.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/time.h"
#include "web/api/api.h"
#include "web/http/request.h"
#include "web/recordings/keeping.h"
#include "web/recordings/range.h"
#include "web/recordings/service.h"

#define NAME_MAX_BYTES 200

/* A side of a comparison: a profile, or a time range. */
struct side {
	u64 id; /* 0: the range */
	struct range range;
	int fd; /* descriptor of the side's profile; -1: not there yet */
	char *name;
};

struct comparison {
	struct request *q;
	struct side sides[2];
};

static const char *const side_names[] = { "before", "after" };

static void comparison_free(struct comparison *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(c->sides); i++) {
		if (c->sides[i].fd >= 0)
			close(c->sides[i].fd);
		free(c->sides[i].name);
	}
	free(c);
}

/* Enters the kept profile into the audit list. Replies with an error if it was not kept. */
static bool note_kept(struct request *q, int err, u64 id, const char *doing)
{
	if (err) {
		reply_errno(q, err, "keep the profile");
		return false;
	}
	struct stored s;
	bool is_found = !store_get(q->service->store, id, &s);
	auto_free char *what = xasprintf("%s, as profile %llu%s%s", doing, (unsigned long long)id,
					 is_found ? ", " : "", is_found ? s.name : "");
	if (is_found)
		stored_fini(&s);
	store_audit(q->service->store, request_who(q), what);
	return true;
}

static void diff_kept(void *ctx, int err, u64 id)
{
	if (note_kept(ctx, err, id, "compare profiles"))
		reply_id(ctx, id);
}

static void compared(void *ctx, int err, struct payload *result)
{
	struct comparison *c = ctx;
	struct request *q = c->q;

	if (err) {
		reply_job_error(q, err, result, "compare the profiles");
		comparison_free(c);
		return;
	}
	struct stored facts = {
		.name = xasprintf("%s vs %s", c->sides[0].name, c->sides[1].name),
		.source = xstrdup("diff"),
		.start_ns = time_wall_ns(),
	};
	comparison_free(c);
	keep_profile(q->service, &facts, result, diff_kept, q);
}

static void go_on(struct comparison *c);

static void side_rendered(void *ctx, int err, struct payload *result)
{
	struct comparison *c = ctx;
	struct side *side = &c->sides[c->sides[0].fd >= 0];

	if (!err)
		side->fd = payload_file(result);
	if (!err && side->fd >= 0) {
		go_on(c);
		return;
	}
	range_reply_error(c->q, err ?: side->fd, result, &side->range, "read the time range");
	comparison_free(c);
}

static void refuse(struct comparison *c, int err)
{
	reply_errno(c->q, err, "compare the profiles");
	comparison_free(c);
}

/* Fetches a side that is missing. Compares when both sides are there. */
static void go_on(struct comparison *c)
{
	struct service *sv = c->q->service;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(c->sides); i++) {
		if (c->sides[i].fd >= 0)
			continue;
		err = range_render(sv, &c->sides[i].range, "sflm", side_rendered, c);
		if (err)
			refuse(c, err);
		return;
	}
	struct job_order order = {
		.task = WEB_DIFF,
		.params = { .nr_inputs = 2, .format = "sflm" },
		.fds = { take_fd(c->sides[0].fd), take_fd(c->sides[1].fd) },
		.done = compared,
		.ctx = c,
	};
	err = queue_add(sv->queue, &order);
	if (err)
		refuse(c, err);
}

static bool take_range(struct request *q, const json_t *o, struct range *r)
{
	*r = (struct range)RANGE_ALL(0, 0);
	if (!field_u64(q, o, "from_ms", 0, INT64_MAX, &r->from_ms) ||
	    !field_u64(q, o, "to_ms", 0, INT64_MAX, &r->to_ms) ||
	    !field_text(q, o, "event", RANGE_EVENT_MAX, &r->event) ||
	    !field_text(q, o, "service", RANGE_TEXT_MAX, &r->service) ||
	    !field_text(q, o, "container", RANGE_TEXT_MAX, &r->container) ||
	    !field_text(q, o, "pod", RANGE_TEXT_MAX, &r->pod) ||
	    !field_text(q, o, "comm", RANGE_COMM_MAX, &r->comm) ||
	    !field_text(q, o, "with", RANGE_WITH_MAX, &r->with) ||
	    !field_u64(q, o, "pid", 1, RANGE_PID_MAX, &r->pid) || !range_has_valid_label(q, r))
		return false;
	if (range_is_valid(r))
		return true;
	reply_error(q, ERROR_OUT_OF_RANGE, "from_ms",
		    "The range must end after it begins, and have at most 31 days.");
	return false;
}

static bool take_profile(struct request *q, struct side *side, const char *name, u64 id)
{
	struct stored s;
	int err = store_get(q->service->store, id, &s);

	if (!err) {
		side->name = xstrdup(s.name);
		stored_fini(&s);
		side->fd = store_open_file(q->service->store, id);
		err = side->fd < 0 ? side->fd : 0;
	}
	if (err)
		reply_error(q, ERROR_UNKNOWN_ID, name, "There is no profile %llu.",
			    (unsigned long long)id);
	return !err;
}

static bool take_side(struct request *q, struct side *side, const char *name)
{
	static const char *const known[] = { "from_ms", "to_ms", "event", "service", "container",
					     "pod",     "comm",  "pid",   "with",    NULL };
	const json_t *o = json_object_get(q->json, name);

	if (json_is_integer(o) && json_integer_value(o) > 0)
		return take_profile(q, side, name, (u64)json_integer_value(o));
	if (!json_is_object(o)) {
		reply_error(q, ERROR_BAD_REQUEST, name,
			    "\"%s\" must be the number of a profile, or a time range.", name);
		return false;
	}
	return fields_are_known(q, o, known) && take_range(q, o, &side->range);
}

static u64 length_ms(const struct range *r)
{
	return r->to_ms - r->from_ms;
}

/*
 * Widens the sides that are ranges to whole steps of the larger step; stored profiles have none.
 * Sides of equal length stay equally long.
 */
static void widen_sides(struct comparison *c)
{
	struct range *before = &c->sides[0].range, *after = &c->sides[1].range;
	bool are_equal = length_ms(before) == length_ms(after);
	u64 step_ms = 0;

	for (size_t i = 0; i < ARRAY_SIZE(c->sides); i++) {
		const struct side *side = &c->sides[i];
		u64 own_ms = side->fd < 0 ? range_step_ms(c->q->service, &side->range) : 0;
		step_ms = step_ms > own_ms ? step_ms : own_ms;
	}
	for (size_t i = 0; i < ARRAY_SIZE(c->sides); i++)
		if (c->sides[i].fd < 0)
			range_round(&c->sides[i].range, step_ms);
	if (are_equal && length_ms(before) < length_ms(after))
		before->to_ms = before->from_ms + length_ms(after);
	else if (are_equal)
		after->to_ms = after->from_ms + length_ms(before);
}

static void name_ranges(struct comparison *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(c->sides); i++)
		if (!c->sides[i].name)
			c->sides[i].name = range_name(&c->sides[i].range);
}

void api_diff(struct request *q)
{
	static const char *const known[] = { "before", "after", NULL };
	struct comparison *c = xcalloc(1, sizeof(*c));

	*c = (struct comparison){ .q = q, .sides = { { .fd = -1 }, { .fd = -1 } } };
	if (!fields_are_known(q, q->json, known) || !take_side(q, &c->sides[0], side_names[0]) ||
	    !take_side(q, &c->sides[1], side_names[1])) {
		comparison_free(c);
		return;
	}
	widen_sides(c);
	name_ranges(c);
	go_on(c);
	request_await(q);
}

static void range_kept(void *ctx, int err, u64 id)
{
	struct request *q = ctx;
	struct stored s;

	if (!note_kept(q, err, id, "keep a time range"))
		return;
	err = store_get(q->service->store, id, &s);
	if (err) {
		reply_errno(q, err, "find the profile");
		return;
	}
	u64 from_ms = s.start_ns / NS_PER_MS, to_ms = (s.start_ns + s.duration_ns) / NS_PER_MS;
	stored_fini(&s);
	reply_json(q, 201,
		   json_pack("{s:I,s:I,s:I}", "id", (json_int_t)id, "from_ms", (json_int_t)from_ms,
			     "to_ms", (json_int_t)to_ms));
}

static void range_rendered(void *ctx, int err, struct payload *result)
{
	struct request *q = ctx;
	const char *name = json_string_value(json_object_get(q->json, "name"));
	struct range r;

	if (!take_range(q, q->json, &r)) /* cannot fail: the range was valid when the job began */
		return;
	if (err) {
		range_reply_error(q, err, result, &r, "read the time range");
		return;
	}
	range_widen(q->service, &r);
	char *target = range_target(&r);
	struct stored facts = {
		.name = xstrdup(name && *name ? name : target),
		.target = target,
		.source = xstrdup("range"),
		.start_ns = r.from_ms * NS_PER_MS,
		.duration_ns = (r.to_ms - r.from_ms) * NS_PER_MS,
	};
	keep_profile(q->service, &facts, result, range_kept, q);
}

void api_range(struct request *q)
{
	static const char *const known[] = { "from_ms",   "to_ms", "event", "service",
					     "container", "pod",   "comm",  "pid",
					     "with",      "name",  NULL };
	const char *name = "";
	struct range r;

	if (!fields_are_known(q, q->json, known) ||
	    !field_text(q, q->json, "name", NAME_MAX_BYTES, &name) || !take_range(q, q->json, &r))
		return;
	range_widen(q->service, &r);
	int err = range_render(q->service, &r, "sflm", range_rendered, q);
	if (err)
		reply_errno(q, err, "read the time range");
	else
		request_await(q);
}
