/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics in the text format of Prometheus. Part of web/api/api.h. */
#include <stddef.h>
#include <string.h>

#include "base/time.h"
#include "web/api/api.h"
#include "web/recordings/push.h"
#include "web/recordings/service.h"
#include "web/recordings/sessions.h"

static void add(struct str *out, const char *name, const char *type, const char *help, double value)
{
	str_addf(out, "# HELP sysflame_%s %s\n# TYPE sysflame_%s %s\nsysflame_%s %.15g\n", name,
		 help, name, type, name, value);
}

static size_t nr_running(const struct service *sv)
{
	const struct session *s;
	size_t nr = 0;

	for (size_t i = 0; (s = sessions_at(sv->sessions, i)); i++)
		nr += !s->is_ended;
	return nr;
}

/* A gauge with a value for each cache of the recorder. */
static void add_caches(struct str *out, const struct control_node *n, const char *name,
		       const char *help, size_t field)
{
	str_addf(out,
		 "# HELP sysflame_recorder_cache_%s %s\n# TYPE sysflame_recorder_cache_%s gauge\n",
		 name, help, name);
	for (u32 i = 0; i < n->nr_caches; i++) {
		u64 value;
		memcpy(&value, (const char *)&n->caches[i] + field, sizeof(value));
		str_addf(out, "sysflame_recorder_cache_%s{cache=\"%s\"} %llu\n", name,
			 n->caches[i].name, (unsigned long long)value);
	}
}

static void add_all_caches(struct str *out, const struct recorder_link *r)
{
	if (!r->has_node)
		return;
	add_caches(out, &r->node, "entries", "Entries of a cache.",
		   offsetof(struct control_cache, nr));
	add_caches(out, &r->node, "bytes", "Bytes of a cache.",
		   offsetof(struct control_cache, bytes));
	add_caches(out, &r->node, "budget_bytes", "Bytes that a cache may take.",
		   offsetof(struct control_cache, budget_bytes));
}

static void add_helpers(struct str *out, const struct recorder_losses *l)
{
	static const char *const names[NR_CONTROL_HELPERS] = {
		[CONTROL_HELPER_ZYGOTE] = "zygote",
		[CONTROL_HELPER_MEMORY] = "memory",
		[CONTROL_HELPER_ATTACH] = "attach",
	};

	str_add(out, "# HELP sysflame_recorder_helper_losses_total Recorders that started anew "
		     "because this helper had ended.\n"
		     "# TYPE sysflame_recorder_helper_losses_total counter\n");
	for (u32 i = 0; i < NR_CONTROL_HELPERS; i++)
		str_addf(out, "sysflame_recorder_helper_losses_total{helper=\"%s\"} %llu\n",
			 names[i], (unsigned long long)l->nr_by_helper[i]);
}

static void add_store(struct str *out, const struct service *sv)
{
	const struct store_size size = store_size(sv->store);

	add(out, "profiles", "gauge", "Profiles in the store.", (double)size.nr_profiles);
	add(out, "profile_bytes", "gauge", "Bytes of the profiles.", (double)size.profile_bytes);
	add(out, "index_bytes", "gauge", "Bytes of the index of the store.",
	    (double)size.index_bytes);
	add(out, "slice_bytes", "gauge", "Bytes of continuous profiling.",
	    (double)size.slice_bytes);
	add(out, "store_errors_total", "counter",
	    "Writes that failed because the disk is full, read-only or broken.",
	    (double)sv->store_health.nr_errors);
}

void api_metrics(struct request *q)
{
	static const struct reply_form form = {
		.type = "text/plain; version=0.0.4; charset=utf-8"
	};
	const struct service *sv = q->service;
	const struct recorder_link *r = &sv->recorder;
	const struct workers_usage workers = workers_usage(sv->workers);
	struct str s = { 0 };

	add(&s, "recorder_up", "gauge", "Whether there is a recorder.", r->is_up);
	add(&s, "recorder_restarts_total", "counter",
	    "Recorders that ended since the web process started.", (double)r->losses.nr);
	add_helpers(&s, &r->losses);
	add(&s, "web_restarts_total", "counter",
	    "Web processes that ended since the daemon started.", (double)sv->nr_restarts);
	add(&s, "recorder_cpu_seconds_total", "counter", "CPU time of the recorder, BPF included.",
	    (double)r->cpu_ns / NS_PER_SEC);
	add(&s, "recorder_memory_bytes", "gauge", "Resident memory of the recorder.",
	    r->has_node ? (double)r->node.memory_bytes : 0);
	add(&s, "recorder_heap_bytes", "gauge", "Memory that the recorder has allocated.",
	    r->has_node ? (double)r->node.heap_bytes : 0);
	add(&s, "recorder_heap_free_bytes", "gauge",
	    "Free memory of the recorder's heap that the kernel has not got back.",
	    r->has_node ? (double)r->node.heap_free_bytes : 0);
	add(&s, "continuous_rate_hertz", "gauge", "Rate of continuous profiling; 0: off.",
	    r->has_node ? r->node.continuous_hz : 0);
	add(&s, "continuous_covered_seconds_total", "counter",
	    "Time of the slices of continuous profiling that were stored.",
	    (double)sv->covered_ns / NS_PER_SEC);
	add(&s, "samples_total", "counter", "Samples in recordings and slices.",
	    (double)sv->nr_samples);
	add(&s, "lost_samples_total", "counter", "Samples that were lost.", (double)sv->nr_lost);
	add(&s, "missed_samples_total", "counter",
	    "Of the lost samples those for which no program ran: the kernel ran others, or a "
	    "timer was late.",
	    (double)sv->nr_missed);
	add(&s, "triggers_fired_total", "counter", "Triggers that started a recording.",
	    (double)sv->triggered.nr);
	add(&s, "sessions", "gauge", "Recordings that run.", (double)nr_running(sv));
	add(&s, "jvms", "gauge", "JVMs on the node.", (double)r->jvms.nr);
	add_store(&s, sv);
	add(&s, "worker_jobs_total", "counter", "Jobs that workers finished.",
	    (double)workers.nr_done);
	add(&s, "worker_failures_total", "counter", "Workers that ended or took too long.",
	    (double)(workers.nr_failed + workers.nr_late));
	add(&s, "worker_queue", "gauge", "Jobs that are not done.", (double)queue_nr(sv->queue));
	add_all_caches(&s, r);
	push_metrics(sv->push, &s);
	size_t nr = s.len;
	struct payload *b = payload_new(str_take(&s), nr);
	reply_payload(q, b, &form);
	payload_put(b);
}
