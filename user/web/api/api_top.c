/* SPDX-License-Identifier: Apache-2.0 */
/* The latest readings of the JVMs. Part of web/api/api.h. */
#include "base/time.h"
#include "web/api/api.h"
#include "web/recordings/service.h"

#define PPM_PER_PERCENT 1e4

static json_t *percent(u64 ppm)
{
	return ppm == CONTROL_UNKNOWN ? json_null() : json_real((double)ppm / PPM_PER_PERCENT);
}

static json_t *amount(u64 value)
{
	return value == CONTROL_UNKNOWN ? json_null() : json_integer((json_int_t)value);
}

static json_t *methods_json(const struct control_reading_jvm *j)
{
	json_t *list = json_array();

	for (u32 i = 0; i < j->nr_methods; i++) {
		const struct control_method *m = &j->methods[i];
		json_array_append_new(list, json_pack("{s:s,s:b,s:I,s:I}", "name", m->name, "java",
						      (int)m->is_java, "self", (json_int_t)m->self,
						      "total", (json_int_t)m->total));
	}
	return list;
}

static json_t *threads_json(const struct control_reading_jvm *j)
{
	const u32 *t = j->threads;

	if (!j->nr_threads)
		return json_null();
	return json_pack("{s:I,s:I,s:I,s:I,s:I}", "all", (json_int_t)j->nr_threads, "running",
			 (json_int_t)t[0], "native", (json_int_t)t[1], "blocked", (json_int_t)t[2],
			 "waiting", (json_int_t)t[3]);
}

static json_t *virtual_json(const u32 *v)
{
	return json_pack("{s:I,s:I,s:I,s:I}", "all", (json_int_t)v[0], "run", (json_int_t)v[1],
			 "wait", (json_int_t)v[2], "pinned", (json_int_t)v[3]);
}

static json_t *jvm_json(const struct control_reading_jvm *j)
{
	json_t *o = json_pack("{s:i,s:I,s:s,s:s,s:s,s:s,s:s}", "pid", (int)j->pid, "start_ns",
			      (json_int_t)j->start_ns, "name", j->name, "container", j->container,
			      "jdk", j->jdk, "collector", j->collector, "gap", j->gap);

	json_object_set_new(o, "cpu_percent", percent(j->cpu_ppm));
	json_object_set_new(o, "gc_percent", percent(j->gc_ppm));
	json_object_set_new(o, "jit_percent", percent(j->jit_ppm));
	json_object_set_new(o, "alloc_bytes_per_s", amount(j->alloc_rate));
	json_object_set_new(o, "alloc_is_least", json_boolean(j->alloc_is_least));
	json_object_set_new(o, "alloc_bytes", amount(j->allocated_bytes));
	json_object_set_new(o, "alloc_partial_threads", amount(j->partial_threads));
	json_object_set_new(o, "threads", threads_json(j));
	json_object_set_new(o, "virtual_threads", virtual_json(j->virtual));
	json_object_set_new(o, "heap_used_bytes", amount(j->heap_used));
	json_object_set_new(o, "heap_committed_bytes", amount(j->heap_committed));
	json_object_set_new(o, "collections", amount(j->collections));
	json_object_set_new(o, "samples", amount(j->samples));
	json_object_set_new(o, "methods", methods_json(j));
	return o;
}

static json_t *reading_json(const struct service *sv, const struct reading *r)
{
	const struct control_reading *n = &r->node;
	json_t *jvms = json_array();

	vec_each(j, &r->jvms)
		json_array_append_new(jvms, jvm_json(j));
	json_t *node = json_pack("{s:s,s:I,s:[f,f,f]}", "host", sv->host, "cpus",
				 (json_int_t)n->nr_cpus, "load", n->load_milli[0] / 1e3,
				 n->load_milli[1] / 1e3, n->load_milli[2] / 1e3);
	json_object_set_new(node, "busy_percent", percent(n->busy_ppm));
	json_object_set_new(node, "stolen_percent", percent(n->stolen_ppm));
	json_object_set_new(node, "other_percent", percent(n->other_ppm));
	json_object_set_new(node, "sysflame_percent", percent(n->own_ppm));
	return json_pack("{s:I,s:f,s:b,s:o,s:o}", "time_ms", (json_int_t)(n->wall_ns / NS_PER_MS),
			 "interval_s", (double)n->passed_ns / 1e9, "has_methods",
			 (int)(sv->recorder.node.continuous_hz != 0), "node", node, "jvms", jvms);
}

/* Without a reading yet, `jvms` is null: the recorder begins to read because of this request. */
void api_top(struct request *q)
{
	struct service *sv = q->service;

	recorder_link_watch(&sv->recorder);
	if (!sv->recorder.is_up)
		reply_error(q, ERROR_RECORDER_DOWN, NULL, "There is no recorder.");
	else if (sv->recorder.reading)
		reply_json(q, 200, reading_json(sv, sv->recorder.reading));
	else
		reply_json(q, 200, json_pack("{s:n}", "jvms"));
}
