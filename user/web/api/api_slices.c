/* SPDX-License-Identifier: Apache-2.0 */
/* The use of services by time. Part of web/api/api.h. */
#include <string.h>

#include "base/time.h"
#include "web/api/api.h"
#include "web/recordings/range.h"
#include "web/recordings/service.h"

#define HOUR_MS       (3600 * 1000ull)
#define STEPS_DEFAULT 360
#define STEPS_MAX     2000
#define TIME_MAX_MS   (STORE_STRIP_MAX_NS / NS_PER_MS)

static json_t *values_json(const u64 *values, size_t nr, u64 divisor)
{
	json_t *list = json_array();

	for (size_t i = 0; i < nr; i++)
		json_array_append_new(list, json_integer((json_int_t)(values[i] / divisor)));
	return list;
}

static json_t *series_json(const struct store_series *s, u64 divisor)
{
	return json_pack("{s:s,s:I,s:o}", "service", s->service, "total",
			 (json_int_t)(s->total / divisor), "values",
			 values_json(s->values.at, s->values.nr, divisor));
}

static json_t *gaps_json(const struct store_coverage *c)
{
	json_t *list = json_array();

	vec_each(g, &c->gaps)
		json_array_append_new(
			list, json_pack("{s:I,s:I,s:I,s:s}", "from_ms",
					(json_int_t)(g->from_ns / NS_PER_MS), "to_ms",
					(json_int_t)(g->to_ns / NS_PER_MS), "since_ms",
					(json_int_t)(g->since_ns / NS_PER_MS), "why", g->why));
	return list;
}

static void reply_strip(struct request *q, const struct store_strip *strip,
			const struct store_coverage *coverage, const char *event)
{
	bool is_time = strcmp(event, "alloc") != 0;
	u64 divisor = is_time ? NS_PER_MS : 1;
	json_t *list = json_array(), *events = json_array();

	vec_each(s, &strip->series)
		json_array_append_new(list, series_json(s, divisor));
	vec_each(name, &strip->events)
		json_array_append_new(events, json_string(*name));
	reply_json(q, 200,
		   json_pack("{s:I,s:I,s:I,s:o,s:o,s:s,s:s,s:o,s:o,s:o,s:I}", "from_ms",
			     (json_int_t)(strip->from_ns / NS_PER_MS), "step_ms",
			     (json_int_t)(strip->step_ns / NS_PER_MS), "nr_steps",
			     (json_int_t)strip->nr_steps, "covered_ms",
			     values_json(strip->covered.at, strip->covered.nr, NS_PER_MS), "gaps",
			     gaps_json(coverage), "event", event, "unit", is_time ? "ms" : "bytes",
			     "events", events, "all",
			     values_json(strip->all.at, strip->all.nr, divisor), "series", list,
			     "nr_left_out", (json_int_t)strip->nr_left_out));
}

void api_slices(struct request *q)
{
	u64 now = time_wall_ns() / NS_PER_MS, from = now - HOUR_MS, to = now;
	u64 steps = STEPS_DEFAULT;
	struct store_strip strip = { 0 };
	const char *event = "cpu";

	if (!request_query_u64(q, "from_ms", 0, TIME_MAX_MS, &from) ||
	    !request_query_u64(q, "to_ms", 0, TIME_MAX_MS, &to) ||
	    !request_query_u64(q, "steps", 1, STEPS_MAX, &steps) ||
	    !request_query_text(q, "event", RANGE_EVENT_MAX, &event))
		return;
	if (from >= to) {
		reply_error(q, ERROR_OUT_OF_RANGE, "from_ms",
			    "\"from_ms\" must be before \"to_ms\".");
		return;
	}
	/*
	 * Widen the range to whole slices: nothing is known about a part of a slice, or of a step.
	 */
	struct range r = RANGE_ALL(from, to);
	range_widen(q->service, &r);
	from = r.from_ms;
	to = r.to_ms <= TIME_MAX_MS ? r.to_ms : to;
	const struct store_strip_query query = { from * NS_PER_MS, to * NS_PER_MS,
						 *event ? event : "cpu", (u32)steps };
	/* Slices arrive up to STORE_LATE_NS after their end: the newest ones are still missing. */
	u64 written_ns = time_wall_ns() - STORE_LATE_NS;
	u64 known_ns = query.to_ns < written_ns ? query.to_ns : written_ns;
	struct store_coverage coverage = { 0 };
	int err = store_strip(q->service->store, &query, &strip);
	if (!err && (err = store_coverage(q->service->store, query.from_ns, known_ns, &coverage)))
		store_strip_fini(&strip);
	if (err) {
		reply_errno(q, err, "read the slices");
		return;
	}
	reply_strip(q, &strip, &coverage, query.event);
	store_coverage_fini(&coverage);
	store_strip_fini(&strip);
}
