/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time of services by time. Part of web/api.h. */
#include "base/time.h"
#include "web/api.h"
#include "web/service.h"

#define HOUR_MS       (3600 * 1000ull)
#define STEPS_DEFAULT 360
#define STEPS_MAX     2000
#define TIME_MAX_MS   (INT64_MAX / NS_PER_MS)

static json_t *series_json(const struct store_series *s)
{
	json_t *cpu = json_array();

	vec_each(ns, &s->cpu_ns)
		json_array_append_new(cpu, json_integer((json_int_t)(*ns / NS_PER_MS)));
	return json_pack("{s:s,s:I,s:o}", "service", s->service, "total_ms",
			 (json_int_t)(s->total_ns / NS_PER_MS), "cpu_ms", cpu);
}

void api_slices(struct request *q)
{
	u64 now = time_wall_ns() / NS_PER_MS, from = now - HOUR_MS, to = now;
	u64 steps = STEPS_DEFAULT;
	struct store_strip strip = { 0 };

	if (!request_query_u64(q, "from_ms", 0, TIME_MAX_MS, &from) ||
	    !request_query_u64(q, "to_ms", 0, TIME_MAX_MS, &to) ||
	    !request_query_u64(q, "steps", 1, STEPS_MAX, &steps))
		return;
	if (from >= to) {
		reply_error(q, ERROR_OUT_OF_RANGE, "from_ms",
			    "\"from_ms\" must be before \"to_ms\".");
		return;
	}
	int err = store_strip(q->service->store, from * NS_PER_MS, to * NS_PER_MS, (u32)steps,
			      &strip);
	if (err) {
		reply_errno(q, err, "read the slices");
		return;
	}
	json_t *list = json_array();
	vec_each(s, &strip.series)
		json_array_append_new(list, series_json(s));
	reply_json(q, 200,
		   json_pack("{s:I,s:I,s:I,s:o}", "from_ms",
			     (json_int_t)(strip.from_ns / NS_PER_MS), "step_ms",
			     (json_int_t)(strip.step_ns / NS_PER_MS), "nr_steps",
			     (json_int_t)strip.nr_steps, "series", list));
	store_strip_fini(&strip);
}
