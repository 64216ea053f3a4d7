/* SPDX-License-Identifier: Apache-2.0 */
/* Who a node is, by its HTTP API. */
#include "fleet/http_node.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "base/utf8.h"

#define NODE_BYTES   (256u << 10)
#define SLICES_BYTES (1u << 20)
#define CPUS_MAX     65536
#define SERVICES_MAX 1000
#define TOTAL_MAX_MS (1ull << 40)

static u64 number(const json_t *object, const char *key, u64 max)
{
	const json_t *value = json_object_get(object, key);
	json_int_t n = json_is_integer(value) ? json_integer_value(value) : 0;

	return n < 0 ? 0 : (u64)n > max ? max : (u64)n;
}

static void fail(struct http_node *n, const struct fetched *r)
{
	auto_str struct str why = { 0 };

	http_add_fault(&why, r);
	copy_text(n->why, sizeof(n->why), why.at);
	n->is_ready = true;
}

static u64 host_mono_ns(void *ctx)
{
	return time_mono_ns();
}

static u64 host_wall_ms(void *ctx)
{
	return time_wall_ns() / NS_PER_MS;
}

/* The daemon itself knows. */
static bool host_is_disabled(void *ctx)
{
	return false;
}

static void host_look(void *ctx, struct member_facts *out)
{
	const struct http_node *n = ctx;

	*out = n->facts;
}

/* Without slices nobody knows; the samples decide then. */
static bool host_runs(void *ctx, const struct selector *s)
{
	const struct http_node *n = ctx;
	const char *wanted = s->processes[SELECTOR_SERVICE];

	vec_each(one, &n->services)
		if (!strcmp(one->name, wanted))
			return true;
	return !*wanted || !n->services.nr;
}

static u64 host_busy_ppm(void *ctx, const struct selector *s)
{
	const struct http_node *n = ctx;
	const char *wanted = s->processes[SELECTOR_SERVICE];
	double ms = 0;

	vec_each(one, &n->services)
		ms += !*wanted || !strcmp(one->name, wanted) ? (double)one->total_ms : 0;
	return (u64)(ms * 1e6 / (HTTP_SERVICES_S * 1000.0));
}

static bool host_progress(void *ctx, u32 number, u64 *samples, u64 *lost)
{
	return false;
}

static void host_publish(void *ctx, const char *subject, const void *bytes, size_t len)
{
	http_say(ctx, subject, bytes, len);
}

/* The daemon has an entry for each of our requests. */
static void host_audit(void *ctx, const char *person, const char *what)
{
}

static void become_member(struct http_node *n)
{
	n->host = (struct member_host){
		.ctx = n,
		.mono_ns = host_mono_ns,
		.wall_ms = host_wall_ms,
		.is_disabled = host_is_disabled,
		.look = host_look,
		.runs = host_runs,
		.start = http_errand_start,
		.stop = http_errand_stop,
		.progress = host_progress,
		.publish = host_publish,
		.audit = host_audit,
		.busy_ppm = host_busy_ppm,
	};
	const char *labels = strchr(n->labels, ',');
	n->member = member_new(n->name, labels ? labels + 1 : "", &n->host);
	n->is_ready = true;
}

static void add_service(struct http_node *n, const json_t *one)
{
	const char *said = json_string_value(json_object_get(one, "service"));
	struct member_facts *f = &n->facts;
	auto_str struct str name = { 0 };

	if (!said || !*said || n->services.nr >= SERVICES_MAX)
		return;
	utf8_clean(&name, said, sizeof(f->services[0]) - 1);
	vec_push(&n->services,
		 (struct http_service){ xstrdup(name.at), number(one, "total", TOTAL_MAX_MS) });
	f->nr_all_services++;
	if (f->nr_services < FLEET_SERVICES)
		copy_text(f->services[f->nr_services++], sizeof(f->services[0]), name.at);
}

static void take_slices(void *ctx, const struct fetched *r)
{
	struct http_node *n = ctx;
	json_t *j = r->status == 200 ? http_json(r) : NULL;
	const json_t *series = json_object_get(j, "series");

	for (size_t i = 0; i < json_array_size(series); i++)
		add_service(n, json_array_get(series, i));
	json_decref(j);
	become_member(n);
}

static void take_node(void *ctx, const struct fetched *r)
{
	struct http_node *n = ctx;
	u64 now_ms = time_wall_ns() / NS_PER_MS;
	auto_free char *path = xasprintf("/api/v1/slices?event=cpu&steps=1&from_ms=%llu&to_ms=%llu",
					 (unsigned long long)(now_ms - HTTP_SERVICES_S * 1000),
					 (unsigned long long)now_ms);
	const struct fetch_request next = { .path = path,
					    .max_bytes = SLICES_BYTES,
					    .timeout_s = 10 };
	json_t *j = r->status == 200 ? http_json(r) : NULL;
	const json_t *caps = json_object_get(j, "caps"), *recorder = json_object_get(j, "recorder");
	const char *state = json_string_value(json_object_get(recorder, "state"));

	if (!j) {
		fail(n, r);
		return;
	}
	n->facts.nr_cpus = (u32)number(j, "cpus", CPUS_MAX);
	n->facts.has_recorder = state && !strcmp(state, "up");
	n->facts.caps.max_hz = (u32)number(caps, "max_hz", POLICY_HZ_MAX);
	n->facts.caps.max_duration_s = (u32)number(caps, "max_duration_s", POLICY_DURATION_S);
	json_decref(j);
	http_fetch(n, &next, take_slices, n);
}

void http_node_meet(struct http_node *n, u32 wait_s)
{
	const struct fetch_request r = { .path = "/api/v1/node",
					 .max_bytes = NODE_BYTES,
					 .timeout_s = wait_s };

	http_fetch(n, &r, take_node, n);
}

void http_node_fini(struct http_node *n)
{
	member_free(n->member);
	vec_each(s, &n->services)
		free(s->name);
	vec_fini(&n->services);
	vec_each(e, &n->errands)
		free(*e);
	vec_fini(&n->errands);
}
