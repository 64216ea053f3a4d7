/* SPDX-License-Identifier: Apache-2.0 */
/* A time range of continuous profiling. */
#include "web/range.h"

#include "base/auto.h"
#include "base/time.h"
#include "web/input.h"
#include "web/service.h"

bool range_is_valid(const struct range *r)
{
	return r->from_ms < r->to_ms && r->to_ms - r->from_ms <= RANGE_MAX_MS &&
	       r->to_ms <= INT64_MAX / NS_PER_MS;
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
	const char *container = r->container ?: "", *pod = r->pod ?: "", *ns = r->namespace ?: "";
	auto_free char *key =
		xasprintf("range %llu %llu %s %s\n%s\n%s\n%s", (unsigned long long)r->from_ms,
			  (unsigned long long)r->to_ms, format, r->service, container, pod, ns);
	struct job_order order = {
		.task = WEB_RANGE,
		.params = { .from_wall_ns = in.from_ns, .to_wall_ns = in.to_ns },
		.fds = { payload_file(&nothing), -1 }, /* all its files are asked for */
		.open = input_open,
		.open_ctx = input_new(&in),
		.key = key,
		.done = done,
		.ctx = ctx,
	};

	copy_text(order.params.format, sizeof(order.params.format), format);
	copy_text(order.params.service, sizeof(order.params.service), r->service);
	copy_text(order.params.container, sizeof(order.params.container), container);
	copy_text(order.params.pod, sizeof(order.params.pod), pod);
	copy_text(order.params.namespace, sizeof(order.params.namespace), ns);
	copy_text(order.params.title, sizeof(order.params.title),
		  *r->service ? r->service : "node");
	return queue_add(sv->queue, &order);
}
