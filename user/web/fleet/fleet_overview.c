/* SPDX-License-Identifier: Apache-2.0 */
/* What the services of a fleet used in the last hour. */
#include "web/fleet/fleet_overview.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "fleet/controller/parts.h"

#define MINUTE_MS    60000ull
#define LATE_MS      15000ull /* nodes hand over a slice every 10 s */
#define FILL_MINUTES 5        /* of the time before the first look every so many are read */
#define ANSWERS_MS   2000
#define NAME_BYTES   200
#define COMPARED     50 /* services of which the nodes' labels are compared */
#define KEYS_MAX     8
#define VALUES_MAX   8    /* of a label: with more it tells machines apart, not versions or zones */
#define CERTAIN      2    /* half widths of an interval of 95 %: many services are compared */
#define LEAST_CPUS   0.01 /* smaller differences are not worth a line */
#define DOUBLINGS    5    /* pauses after failures are 1, 2, 4, .. 32 minutes */
#define OWN          "sysflame"

/* A minute since 1970 that was read, or could not be. */
struct minute {
	u64 number;
	bool is_read, is_estimate;
	u32 nr_matched, nr_delivered;
	u32 nr_failures; /* in a row */
	u64 retry_ms;    /* if it could not be read: when it is asked for again, since 1970 */
};

/* Two groups of a service's nodes that differ by more than chance. */
struct difference {
	char *key, *a, *b;     /* owned */
	double mean_a, change; /* CPUs of a node; that of b is larger by `change` */
};

struct use {
	char *name; /* owned; the key */
	/* CPUs, by number of the minute modulo OVERVIEW_MINUTES; 0 if it was not read */
	double cpus[OVERVIEW_MINUTES];
	/* of the newest minute */
	double low, high; /* an interval of 95 %; both 0: there is none */
	u32 nr_nodes;
	VEC(struct difference) differences;
	UT_hash_handle hh;
};

struct fleet_overview {
	struct minute minutes[OVERVIEW_MINUTES];
	struct use *all;
	u64 newest; /* the newest minute that was read; 0: none */
	struct controller *c;
	struct controller_host host;
	u64 nr_readings;
	u64 asked;   /* the minute that `c` reads */
	char *error; /* why the last reading failed; NULL */
};

struct fleet_overview *fleet_overview_new(void)
{
	return xcalloc(1, sizeof(struct fleet_overview));
}

static void forget_differences(struct use *u)
{
	vec_each(d, &u->differences) {
		free(d->key);
		free(d->a);
		free(d->b);
	}
	vec_fini(&u->differences);
}

static void forget(struct fleet_overview *v, struct use *u)
{
	HASH_DEL(v->all, u);
	forget_differences(u);
	free(u->name);
	free(u);
}

void fleet_overview_free(struct fleet_overview *v)
{
	struct use *u, *next;

	if (!v)
		return;
	HASH_ITER(hh, v->all, u, next)
		forget(v, u);
	controller_free(v->c);
	free(v->error);
	free(v);
}

static bool was_tried(const struct fleet_overview *v, u64 minute)
{
	return v->minutes[minute % OVERVIEW_MINUTES].number == minute;
}

static bool is_retried(const struct fleet_overview *v, u64 minute, u64 wall_ms)
{
	const struct minute *m = &v->minutes[minute % OVERVIEW_MINUTES];

	return m->number == minute && !m->is_read && m->retry_ms <= wall_ms;
}

/* The minute to read next; 0: none. Minutes that failed come last, the newest of them first. */
static u64 due_minute(const struct fleet_overview *v, u64 wall_ms)
{
	u64 last = (wall_ms - LATE_MS) / MINUTE_MS - 1;

	if (!was_tried(v, last))
		return last;
	for (u64 minute = last; minute > last - OVERVIEW_MINUTES; minute--)
		if (minute % FILL_MINUTES == 0 && !was_tried(v, minute))
			return minute;
	for (u64 minute = last; minute > last - OVERVIEW_MINUTES; minute--)
		if (is_retried(v, minute, wall_ms))
			return minute;
	return 0;
}

static void begin(struct fleet_overview *v, u64 minute, u64 wall_ms)
{
	struct controller_order o = {
		.want = WANT_SLICES,
		.duration_s = MINUTE_MS / 1000,
		.ago_s = (u32)((wall_ms - (minute + 1) * MINUTE_MS) / 1000),
		.answers_ms = ANSWERS_MS,
	};

	copy_text(o.events, sizeof(o.events), "cpu");
	copy_text(o.reason, sizeof(o.reason), "the page of the fleet");
	v->asked = minute;
	if (controller_start(&o, &v->host, &v->c))
		log_error("fleet: the use of services cannot be asked for");
}

static struct use *use_of(struct fleet_overview *v, const char *name)
{
	auto_str struct str clean = { 0 };
	struct use *u;

	utf8_clean(&clean, name, NAME_BYTES);
	if (!clean.len)
		str_add(&clean, "(no name)");
	HASH_FIND_STR(v->all, clean.at, u);
	if (u)
		return u;
	u = xcalloc(1, sizeof(*u));
	u->name = str_take(&clean);
	HASH_ADD_KEYPTR(hh, v->all, u->name, strlen(u->name), u);
	return u;
}

/* Labels of a node as the fleet knows them, without the first one, its name: "zone=a,version=2". */
static const char *labels_of(const struct gather_node *n)
{
	const char *labels = n ? strchr(n->labels, ',') : NULL;

	return labels ? labels + 1 : "";
}

/* The value of a label; false if the node does not have it. */
static bool label_find(const char *labels, const char *key, char value[64])
{
	size_t len = strlen(key);

	for (const char *at = labels; *at;
	     at += at[strcspn(at, ",")] ? strcspn(at, ",") + 1 : strlen(at)) {
		if (strncmp(at, key, len) || at[len] != '=')
			continue;
		size_t value_len = strcspn(at + len + 1, ",");
		if (value_len >= 64)
			return false;
		memcpy(value, at + len + 1, value_len);
		value[value_len] = '\0';
		return true;
	}
	return false;
}

struct keys {
	char at[KEYS_MAX][64];
	size_t nr;
};

static void keys_add(struct keys *keys, const char *labels)
{
	while (*labels && keys->nr < KEYS_MAX) {
		size_t len = strcspn(labels, "=,");
		char key[64] = "";
		bool is_known = len >= sizeof(key);
		if (!is_known)
			memcpy(key, labels, len);
		for (size_t i = 0; i < keys->nr; i++)
			is_known |= !strcmp(keys->at[i], key);
		if (!is_known)
			memcpy(keys->at[keys->nr++], key, sizeof(key));
		labels += strcspn(labels, ",");
		labels += *labels == ',';
	}
}

/* The nodes of a service with one value of a label. */
struct group {
	char value[64];
	double *cpus;
	u32 nr;
};

struct groups {
	struct group at[VALUES_MAX];
	u32 nr;
	bool has_more;
};

static void groups_add(struct groups *g, const char *value, double cpus, u32 most)
{
	u32 i = 0;

	while (i < g->nr && strcmp(g->at[i].value, value) != 0)
		i++;
	if (i == VALUES_MAX) {
		g->has_more = true;
		return;
	}
	if (i == g->nr) {
		copy_text(g->at[i].value, sizeof(g->at[i].value), value);
		g->at[i].cpus = xcalloc(most, sizeof(double));
		g->nr++;
	}
	g->at[i].cpus[g->at[i].nr++] = cpus;
}

static void groups_fini(struct groups *g)
{
	for (u32 i = 0; i < g->nr; i++)
		free(g->at[i].cpus);
}

static double mean_of(const struct group *g)
{
	double sum = 0;

	for (u32 i = 0; i < g->nr; i++)
		sum += g->cpus[i];
	return g->nr ? sum / g->nr : 0;
}

static int most_nodes_first(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return x->nr != y->nr ? (x->nr < y->nr) - (x->nr > y->nr) : strcmp(x->value, y->value);
}

/* Compares the two values of the label that most nodes have. */
static void compare(struct use *u, const char *key, struct groups *g)
{
	if (g->nr < 2 || g->has_more)
		return;
	qsort(g->at, g->nr, sizeof(g->at[0]), most_nodes_first);
	const struct group *a = &g->at[0], *b = &g->at[1];
	const struct estimate_groups of = {
		.before = a->cpus, .after = b->cpus, .nr_before = a->nr, .nr_after = b->nr
	};
	struct estimate e = estimate_difference(&of);
	if (!e.has_interval || fabs(e.total) <= CERTAIN * (e.high - e.low) / 2 ||
	    fabs(e.total) < LEAST_CPUS)
		return;
	vec_push(&u->differences, (struct difference){ .key = xstrdup(key),
						       .a = xstrdup(a->value),
						       .b = xstrdup(b->value),
						       .mean_a = mean_of(a),
						       .change = e.total });
}

/* Nodes without the service are left out: which ones run it is not the question. */
static void compare_labels(struct use *u, const struct part *part, const struct parts *parts,
			   const struct controller_state *s, const struct keys *keys)
{
	for (size_t k = 0; k < keys->nr; k++) {
		struct groups groups = { .nr = 0 };
		char value[64];
		for (u32 i = 0; i < parts->nr_totals; i++) {
			const char *node = s->totals[parts->totals[i]].node;
			if (part->values[i] > 0 &&
			    label_find(labels_of(gather_find(s->nodes, node)), keys->at[k], value))
				groups_add(&groups, value,
					   part->values[i] / (double)(MINUTE_MS * NS_PER_MS),
					   parts->nr_totals);
		}
		compare(u, keys->at[k], &groups);
		groups_fini(&groups);
	}
}

static void clear_minute(struct fleet_overview *v, u64 minute)
{
	struct use *u, *next;

	HASH_ITER(hh, v->all, u, next)
		u->cpus[minute % OVERVIEW_MINUTES] = 0;
}

static void clear_newest(struct fleet_overview *v)
{
	struct use *u, *next;

	HASH_ITER(hh, v->all, u, next) {
		u->low = u->high = 0;
		u->nr_nodes = 0;
		forget_differences(u);
	}
}

static bool is_known_minute(const struct fleet_overview *v, u64 minute)
{
	return was_tried(v, minute) && v->minutes[minute % OVERVIEW_MINUTES].is_read;
}

/* CPUs in the mean of the minutes of the last hour that were read. */
static double mean_cpus(const struct fleet_overview *v, const struct use *u)
{
	double sum = 0;
	u32 nr = 0;

	for (u64 minute = v->newest; minute > v->newest - OVERVIEW_MINUTES; minute--)
		if (is_known_minute(v, minute)) {
			sum += u->cpus[minute % OVERVIEW_MINUTES];
			nr++;
		}
	return nr ? sum / nr : 0;
}

struct ranked {
	struct use *use;
	double cpus;
};

static int most_used_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->cpus != y->cpus)
		return x->cpus < y->cpus ? 1 : -1;
	return strcmp(x->use->name, y->use->name);
}

/* The caller frees the list. */
static struct ranked *rank(const struct fleet_overview *v, size_t *nr)
{
	struct ranked *list = xcalloc(HASH_COUNT(v->all) + 1u, sizeof(list[0]));
	struct use *u, *next;

	*nr = 0;
	HASH_ITER(hh, v->all, u, next)
		list[(*nr)++] = (struct ranked){ u, mean_cpus(v, u) };
	qsort(list, *nr, sizeof(list[0]), most_used_first);
	return list;
}

/* Forgets services that used nothing in the hour, and those beyond the limit. */
static void limit(struct fleet_overview *v)
{
	size_t nr;
	auto_free struct ranked *list = rank(v, &nr);

	for (size_t i = 0; i < nr; i++)
		if (i >= OVERVIEW_SERVICES || list[i].cpus <= 0)
			forget(v, list[i].use);
}

static void take_services(struct fleet_overview *v, const struct controller_state *s,
			  bool is_newest)
{
	const struct value_type cpu = { .name = "cpu", .unit = "ns" };
	const double minute_ns = MINUTE_MS * NS_PER_MS;
	struct keys keys = { .nr = 0 };
	struct parts parts;

	parts_of_nodes(s, &cpu, OVERVIEW_SERVICES, &parts);
	vec_each(n, &s->nodes->nodes)
		keys_add(&keys, labels_of(*n));
	for (size_t i = 0; i < parts.all.nr; i++) {
		const struct part *part = &parts.all.at[i];
		struct use *u = use_of(v, part->name);
		u->cpus[v->asked % OVERVIEW_MINUTES] += (double)part->value / minute_ns;
		if (!is_newest)
			continue;
		u->nr_nodes = part->nr_nodes;
		if (part->estimate.has_interval) {
			u->low = part->estimate.low / minute_ns;
			u->high = part->estimate.high / minute_ns;
		}
		if (i < COMPARED)
			compare_labels(u, part, &parts, s, &keys);
	}
	parts_fini(&parts);
}

/* `m` is what is known of the minute so far. */
static void note_minute(struct fleet_overview *v, struct minute *m,
			const struct controller_state *s, u64 wall_ms)
{
	u32 failures = m->number == v->asked ? m->nr_failures : 0;
	u32 doublings = failures < DOUBLINGS ? failures : DOUBLINGS;

	*m = (struct minute){ .number = v->asked,
			      .is_read = !s->error,
			      .is_estimate = s->is_estimate,
			      .nr_matched = (u32)s->nr_matched,
			      .nr_delivered = (u32)gather_count(s->nodes, GATHER_DELIVERED),
			      .nr_failures = s->error ? failures + 1 : 0,
			      .retry_ms = wall_ms + (MINUTE_MS << doublings) };
}

static void take_reading(struct fleet_overview *v, const struct controller_state *s, u64 wall_ms)
{
	bool is_newest = !s->error && v->asked >= v->newest;

	clear_minute(v, v->asked);
	note_minute(v, &v->minutes[v->asked % OVERVIEW_MINUTES], s, wall_ms);
	if (is_newest) {
		v->newest = v->asked;
		clear_newest(v);
	}
	if (!s->error)
		take_services(v, s, is_newest);
	free(v->error);
	v->error = s->error ? xstrdup(s->error) : NULL;
	v->nr_readings++;
	limit(v);
}

bool fleet_overview_step(struct fleet_overview *v, const struct controller_host *host, bool may_ask,
			 u64 wall_ms)
{
	u64 minute = v->c || !may_ask ? 0 : due_minute(v, wall_ms);

	if (minute) {
		v->host = *host;
		begin(v, minute, wall_ms);
	}
	if (!v->c)
		return false;
	controller_step(v->c);
	const struct controller_state s = controller_view(v->c);
	if (s.phase != CONTROLLER_ENDED)
		return false;
	take_reading(v, &s, wall_ms);
	controller_free(take(v->c));
	return true;
}

u64 fleet_overview_readings(const struct fleet_overview *v)
{
	return v->nr_readings;
}

bool fleet_overview_runs(const struct fleet_overview *v)
{
	return v->c;
}

void fleet_overview_message(struct fleet_overview *v, const char *subject, const void *bytes,
			    size_t len)
{
	if (v->c)
		controller_message(v->c, subject, bytes, len);
}

/* From the oldest minute to the newest; null if it was not read. */
static json_t *strip_json(const struct fleet_overview *v, const struct use *u)
{
	json_t *list = json_array();

	for (u64 i = OVERVIEW_MINUTES; i-- > 0;) {
		u64 minute = v->newest - i;
		json_array_append_new(list, is_known_minute(v, minute)
						    ? json_real(u->cpus[minute % OVERVIEW_MINUTES])
						    : json_null());
	}
	return list;
}

static json_t *differences_json(const struct use *u)
{
	json_t *list = json_array();

	vec_each(d, &u->differences)
		json_array_append_new(list,
				      json_pack("{s:s,s:s,s:s,s:f,s:f}", "key", d->key, "a", d->a,
						"b", d->b, "mean", d->mean_a, "change", d->change));
	return list;
}

/* Whether one line of the node's list of services is this service. */
static bool runs(const struct gather_node *n, const char *service)
{
	size_t len = strlen(service);

	for (const char *at = n->services; *at;
	     at += at[strcspn(at, "\n")] ? strcspn(at, "\n") + 1 : strlen(at))
		if (strcspn(at, "\n") == len && !strncmp(at, service, len))
			return true;
	return false;
}

/* The number of nodes of the census that run the service, by label: {"version=1": 3, ..}. */
static json_t *labels_json(const struct gather *census, const char *service, u32 *nr_nodes)
{
	json_t *counts = json_object();

	*nr_nodes = 0;
	for (size_t i = 0; census && i < census->nodes.nr; i++) {
		const struct gather_node *n = census->nodes.at[i];
		auto_free char *labels = xstrdup(labels_of(n));
		if (!runs(n, service))
			continue;
		++*nr_nodes;
		char *rest = labels;
		for (char *label; (label = strsep(&rest, ","));) {
			json_t *count = json_object_get(counts, label);
			if (*label && (count || json_object_size(counts) < KEYS_MAX * VALUES_MAX))
				json_object_set_new(counts, label,
						    json_integer(json_integer_value(count) + 1));
		}
	}
	return counts;
}

static json_t *use_json(const struct fleet_overview *v, const struct ranked *r,
			const struct gather *census)
{
	const struct use *u = r->use;
	u32 nr_nodes;
	json_t *labels = labels_json(census, u->name, &nr_nodes);

	return json_pack("{s:s,s:f,s:f,s:o,s:o,s:i,s:o,s:o,s:o}", "name", u->name, "cpus", r->cpus,
			 "now", u->cpus[v->newest % OVERVIEW_MINUTES], "low",
			 u->high > 0 ? json_real(u->low) : json_null(), "high",
			 u->high > 0 ? json_real(u->high) : json_null(), "nodes",
			 (int)(nr_nodes ?: u->nr_nodes), "labels", labels, "strip",
			 strip_json(v, u), "differences", differences_json(u));
}

json_t *fleet_overview_json(const struct fleet_overview *v, const struct gather *census)
{
	const struct minute *newest = &v->minutes[v->newest % OVERVIEW_MINUTES];
	json_t *services = json_array();
	size_t nr;
	auto_free struct ranked *list = rank(v, &nr);

	for (size_t i = 0; i < nr; i++)
		if (strncmp(list[i].use->name, OWN, strlen(OWN)) != 0)
			json_array_append_new(services, use_json(v, &list[i], census));
	return json_pack("{s:I,s:s,s:i,s:i,s:b,s:o}", "until_ms",
			 (json_int_t)(v->newest ? (v->newest + 1) * MINUTE_MS : 0), "error",
			 v->error ?: "", "matched", v->newest ? (int)newest->nr_matched : 0,
			 "delivered", v->newest ? (int)newest->nr_delivered : 0, "is_estimate",
			 v->newest && newest->is_estimate, "services", services);
}
