/* SPDX-License-Identifier: Apache-2.0 */
/* The node, its events and its JVMs. Part of web/api/api.h. */
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/time.h"
#include "web/api/api.h"
#include "web/fleet/fleet.h"
#include "web/recordings/push.h"
#include "web/recordings/service.h"
#include "web/recordings/users.h"

#define PPM_PER_PERCENT 1e4

static json_int_t ms(u64 ns)
{
	return (json_int_t)(ns / NS_PER_MS);
}

static void add_losses(const struct recorder_losses *l, struct str *out)
{
	time_t seconds = (time_t)(l->wall_ns / NS_PER_SEC);
	struct tm tm;
	char at[32];

	if (!l->nr)
		return;
	strftime(at, sizeof(at), "%FT%TZ", gmtime_r(&seconds, &tm));
	str_addf(out, "recorders that ended: %llu, the last one at %s. %s\n",
		 (unsigned long long)l->nr, at, l->why);
}

void api_health(struct request *q)
{
	const struct recorder_link *r = &q->service->recorder;
	auto_str struct str text = { 0 };

	if (!r->is_up || r->is_ending) {
		reply_error(q, ERROR_RECORDER_DOWN, NULL, "%s",
			    r->is_other    ? "The recorder is of another version."
			    : r->is_ending ? r->losses.why
					   : "There is no recorder.");
		return;
	}
	str_add(&text, "ok\n");
	add_losses(&r->losses, &text);
	reply_text(q, 200, text.at);
}

static json_t *caches_json(const struct recorder_link *r)
{
	json_t *list = json_array();

	for (u32 i = 0; r->has_node && i < r->node.nr_caches; i++) {
		const struct control_cache *c = &r->node.caches[i];
		json_array_append_new(list,
				      json_pack("{s:s,s:I,s:I,s:I}", "name", c->name, "entries",
						(json_int_t)c->nr, "bytes", (json_int_t)c->bytes,
						"budget_bytes", (json_int_t)c->budget_bytes));
	}
	return list;
}

static json_t *recorder_json(const struct recorder_link *r)
{
	return json_pack("{s:s,s:I,s:f,s:I,s:I,s:I,s:s,s:o}", "state", r->is_up ? "up" : "down",
			 "since_ms", ms(r->since_wall_ns), "cpu_percent",
			 r->has_node ? (double)r->node.cpu_ppm / PPM_PER_PERCENT : 0.0,
			 "memory_bytes", (json_int_t)(r->has_node ? r->node.memory_bytes : 0),
			 "restarts", (json_int_t)r->losses.nr, "restarted_ms",
			 ms(r->losses.wall_ns), "restart_why", r->losses.why, "caches",
			 caches_json(r));
}

static json_t *excluded_json(const struct recorder_link *r)
{
	json_t *list = json_array();

	for (u32 i = 0; r->has_node && i < r->node.nr_excluded; i++) {
		const struct control_excluded *e = &r->node.excluded[i];
		json_array_append_new(
			list, json_pack("{s:i,s:s,s:s}", "pid", (int)e->pid, "comm", e->comm, "why",
					"A recorder was blocked while it read this process. It is "
					"neither read nor attached to until it ends."));
	}
	return list;
}

json_t *node_json(struct service *sv, enum role role)
{
	const struct recorder_link *r = &sv->recorder;
	const struct store_size size = store_size(sv->store);

	json_t *o =
		json_pack("{s:s,s:s,s:s,s:i,s:s,s:I}", "host", sv->host, "version",
			  SYSFLAME_VERSION, "kernel", r->caps.kernel, "cpus", (int)r->caps.nr_cpus,
			  "role", role == ROLE_OPERATOR ? "operator" : "viewer", "started_ms",
			  ms(sv->started_wall_ns));
	json_object_set_new(o, "recorder", recorder_json(r));
	json_object_set_new(o, "caps",
			    json_pack("{s:I,s:I,s:I}", "max_hz", (json_int_t)r->caps.max_hz,
				      "max_duration_s", (json_int_t)r->caps.max_duration_s,
				      "max_recordings", (json_int_t)r->caps.max_recordings));
	json_object_set_new(o, "continuous",
			    json_pack("{s:I,s:I,s:s}", "rate_hz",
				      (json_int_t)(r->has_node ? r->node.continuous_hz : 0),
				      "since_ms", ms(r->node.continuous_since_wall_ns), "why",
				      r->node.continuous_why));
	json_object_set_new(o, "excluded", excluded_json(r));
	json_object_set_new(o, "push", push_json(sv->push));
	json_object_set_new(o, "fleet", fleet_state_json(sv->fleet));
	json_object_set_new(o, "store",
			    json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:I}", "profiles",
				      (json_int_t)size.nr_profiles, "profile_bytes",
				      (json_int_t)size.profile_bytes, "slice_bytes",
				      (json_int_t)size.slice_bytes, "index_bytes",
				      (json_int_t)size.index_bytes, "oldest_slice_ms",
				      ms(size.oldest_slice_ns), "max_bytes",
				      (json_int_t)sv->max_disk_bytes, "error",
				      store_health_why(&sv->store_health), "error_since_ms",
				      ms(sv->store_health.since_wall_ns)));
	return o;
}

void api_node(struct request *q)
{
	reply_json(q, 200, node_json(q->service, q->role));
}

void api_events(struct request *q)
{
	json_t *list = json_array();

	vec_each(e, &q->service->recorder.events)
		json_array_append_new(list,
				      json_pack("{s:s,s:s,s:s,s:s}", "name", e->name, "unit",
						e->unit, "help", e->help, "why_not", e->why_not));
	reply_json(q, 200, list);
}

json_t *jvms_json(const struct service *sv)
{
	json_t *list = json_array();
	u64 ticks = (u64)sysconf(_SC_CLK_TCK), booted_ns = time_wall_ns() - time_boot_ns();

	vec_each(j, &sv->recorder.jvms) {
		json_t *o = json_pack("{s:i,s:I,s:s,s:s,s:s,s:s,s:s,s:f,s:I}", "pid", (int)j->pid,
				      "uid", (json_int_t)j->uid, "service", j->service, "main",
				      j->main, "jdk", j->jdk, "container", j->container,
				      "container_name", j->container_name, "cpu_percent",
				      (double)j->cpu_ppm / PPM_PER_PERCENT, "started",
				      (json_int_t)(j->started & INT64_MAX));
		json_object_set_new(
			o, "started_ms",
			json_integer(ms(booted_ns) + (json_int_t)(j->started / ticks * 1000)));
		const char *user = users_name(&sv->users, j->uid);
		json_object_set_new(o, "user",
				    user ? json_string(user) : json_sprintf("%u", j->uid));
		json_array_append_new(list, o);
	}
	return list;
}

void api_jvms(struct request *q)
{
	reply_json(q, 200, jvms_json(q->service));
}
