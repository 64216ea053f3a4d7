/* SPDX-License-Identifier: Apache-2.0 */
/* A time range of continuous profiling. */
#include "web/recordings/range.h"

#include <errno.h>
#include <time.h>

#include "base/auto.h"
#include "base/time.h"
#include "export/interchange/named_label.h"
#include "web/http/request.h"
#include "web/jobs/queue.h"
#include "web/recordings/service.h"

#define SLICE_MS 10000 /* slices begin and end at multiples of SLICE_MS */

bool range_is_valid(const struct range *r)
{
	return r->from_ms < r->to_ms && r->to_ms - r->from_ms <= RANGE_MAX_MS &&
	       r->to_ms <= INT64_MAX / NS_PER_MS;
}

bool range_has_valid_label(struct request *q, const struct range *r)
{
	if (!*r->with || named_label_is_choice(r->with))
		return true;
	reply_error(q, ERROR_BAD_REQUEST, "with",
		    "\"with\" must be NAME=VALUE, as in route=/cart.");
	return false;
}

char *range_target(const struct range *r)
{
	struct str s = { 0 };
	const char *const texts[][2] = { { "", r->service },
					 { "container ", r->container },
					 { "pod ", r->pod },
					 { "", r->comm },
					 { "", r->with } };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (*texts[i][1])
			str_addf(&s, "%s%s%s", s.len ? ", " : "", texts[i][0], texts[i][1]);
	if (r->pid)
		str_addf(&s, "%spid %llu", s.len ? ", " : "", (unsigned long long)r->pid);
	if (!s.len)
		str_add(&s, "node");
	return str_take(&s);
}

/* Appends the local time, with its date if that is not the date of another time. */
static void add_clock(struct str *out, u64 ms, u64 other_ms)
{
	time_t seconds = (time_t)(ms / 1000), other_seconds = (time_t)(other_ms / 1000);
	struct tm at, other;
	char text[32];

	localtime_r(&seconds, &at);
	localtime_r(&other_seconds, &other);
	bool is_same_day = at.tm_year == other.tm_year && at.tm_yday == other.tm_yday;
	strftime(text, sizeof(text), is_same_day ? "%T" : "%F %T", &at);
	str_add(out, text);
}

char *range_name(const struct range *r)
{
	auto_free char *target = range_target(r);
	struct str s = { 0 };

	str_addf(&s, "%s ", target);
	add_clock(&s, r->from_ms, time_wall_ns() / NS_PER_MS);
	str_add(&s, "–");
	add_clock(&s, r->to_ms, r->from_ms);
	return str_take(&s);
}

u64 range_step_ms(struct service *sv, const struct range *r)
{
	u64 step_ns = store_slices_step(sv->store, r->from_ms * NS_PER_MS, r->to_ms * NS_PER_MS);

	return step_ns ? step_ns / NS_PER_MS : SLICE_MS;
}

void range_round(struct range *r, u64 step_ms)
{
	r->from_ms -= r->from_ms % step_ms;
	r->to_ms += (step_ms - r->to_ms % step_ms) % step_ms;
}

void range_widen(struct service *sv, struct range *r)
{
	range_round(r, range_step_ms(sv, r));
}

static void add_hole(const struct range *r, const struct store_gap *g, struct str *out)
{
	u64 now_ms = time_wall_ns() / NS_PER_MS;

	str_add(out, "There are no slices from ");
	add_clock(out, r->from_ms, now_ms);
	str_add(out, " to ");
	add_clock(out, r->to_ms, r->from_ms);
	str_add(out, ".");
	if (g->since_ns && g->since_ns < g->from_ns) {
		str_add(out, " There were none since ");
		add_clock(out, g->since_ns / NS_PER_MS, now_ms);
		str_add(out, ".");
	}
	if (*g->why)
		str_addf(out, " The reason: %s.", g->why);
	else if (!g->since_ns)
		str_add(out, " It is before the oldest slice that is kept.");
}

static char *range_hole(struct service *sv, const struct range *r)
{
	struct store_coverage c = { 0 };
	struct str s = { 0 };

	if (store_coverage(sv->store, r->from_ms * NS_PER_MS, r->to_ms * NS_PER_MS, &c))
		return NULL;
	if (!c.covered_ns && c.gaps.nr)
		add_hole(r, &c.gaps.at[0], &s);
	store_coverage_fini(&c);
	return s.len ? str_take(&s) : NULL;
}

void range_reply_error(struct request *q, int err, const struct payload *result,
		       const struct range *r, const char *doing)
{
	auto_free char *hole = err == -EBADMSG ? range_hole(q->service, r) : NULL;

	if (hole)
		reply_error(q, ERROR_BAD_REQUEST, NULL, "%s", hole);
	else
		reply_job_error(q, err, result, doing);
}

int range_render(struct service *sv, const struct range *r, const char *format, job_done_fn done,
		 void *ctx)
{
	static const struct payload nothing = { 0 };
	const struct input in = {
		.store = sv->store,
		.kind = INPUT_SLICES,
		.from_ns = r->from_ms * NS_PER_MS,
		.to_ns = r->to_ms * NS_PER_MS,
	};
	auto_free char *target = range_target(r);
	auto_free char *key =
		xasprintf("range %llu %llu %s %s\n%s\n%s\n%s\n%s\n%s\n%s\n%llu %d",
			  (unsigned long long)r->from_ms, (unsigned long long)r->to_ms, format,
			  r->event, r->service, r->container, r->pod, r->namespace, r->comm,
			  r->with, (unsigned long long)r->pid, r->may_be_empty);
	struct job_order order = {
		.task = WEB_RANGE,
		.params = { .from_wall_ns = in.from_ns,
			    .to_wall_ns = in.to_ns,
			    .pid = r->pid,
			    .may_be_empty = r->may_be_empty },
		.fds = { payload_file(&nothing), -1 }, /* the job asks for all its files later */
		.open = input_open,
		.open_ctx = input_new(&in),
		.key = key,
		.done = done,
		.ctx = ctx,
	};

	copy_text(order.params.format, sizeof(order.params.format), format);
	copy_text(order.params.event, sizeof(order.params.event), r->event);
	copy_text(order.params.service, sizeof(order.params.service), r->service);
	copy_text(order.params.container, sizeof(order.params.container), r->container);
	copy_text(order.params.pod, sizeof(order.params.pod), r->pod);
	copy_text(order.params.namespace, sizeof(order.params.namespace), r->namespace);
	copy_text(order.params.comm, sizeof(order.params.comm), r->comm);
	copy_text(order.params.with, sizeof(order.params.with), r->with);
	copy_text(order.params.title, sizeof(order.params.title), target);
	return queue_add(sv->queue, &order);
}
