/* SPDX-License-Identifier: Apache-2.0 */
/* A reading of `sysflame fleet top`. */
#include "cmd/fleet_hot.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uthash.h>

#include "base/auto.h"
#include "base/str.h"
#include "base/time.h"
#include "base/utf8.h"
#include "export/interchange/tags.h"
#include "export/writers/amount.h"
#include "export/writers/text.h"

#define NAME_BYTES    1000
#define SERVICE_WIDTH 40

struct service {
	const char *name; /* of the profile; the key */
	u64 value;
	u32 nr_nodes;
	UT_hash_handle hh;
};

/* "SERVICE\nNODE", seen. */
struct seen {
	char *key;
	UT_hash_handle hh;
};

struct counting {
	struct service *services;
	struct seen *seen;
};

static struct service *service_of(struct counting *c, const char *name)
{
	struct service *s;

	HASH_FIND_STR(c->services, name, s);
	if (s)
		return s;
	s = xcalloc(1, sizeof(*s));
	s->name = name;
	HASH_ADD_KEYPTR(hh, c->services, s->name, strlen(s->name), s);
	return s;
}

/* The caller frees it; NULL if samples do not say of which node they are. */
static char *node_of(const struct labels *l)
{
	const char *at = l->tags ?: "";
	char *node = NULL;
	struct tag tag;

	while (!node && tag_next(&at, &tag)) {
		if (!tag.is_number && !strcmp(tag.key, "node"))
			node = xstrdup(tag.text);
		tag_fini(&tag);
	}
	return node;
}

static void count_node(struct counting *c, struct service *s, const struct labels *l)
{
	auto_free char *node = node_of(l), *key = NULL;
	struct seen *seen;

	if (!node)
		return;
	key = xasprintf("%s\n%s", s->name, node);
	HASH_FIND_STR(c->seen, key, seen);
	if (seen)
		return;
	seen = xcalloc(1, sizeof(*seen));
	seen->key = take(key);
	HASH_ADD_KEYPTR(hh, c->seen, seen->key, strlen(seen->key), seen);
	s->nr_nodes++;
}

static void count_services(const struct profile *p, struct counting *c)
{
	u64 *values = xcalloc(p->labels.nr + 1, sizeof(values[0]));

	vec_each(w, &p->weights)
		if (!w->type)
			values[w->labels] += w->value;
	for (size_t i = 0; i < p->labels.nr; i++) {
		if (!values[i])
			continue;
		const struct labels *l = &p->labels.at[i];
		struct service *s = service_of(c, l->service && *l->service ? l->service
								: l->comm ?: "");
		s->value += values[i];
		count_node(c, s, l);
	}
	free(values);
}

static int by_value(const void *a, const void *b)
{
	const struct hot_service *x = a, *y = b;

	return x->value != y->value ? (x->value < y->value) - (x->value > y->value)
				    : strcmp(x->name, y->name);
}

static void list_services(struct counting *c, struct fleet_hot *out)
{
	struct service *s, *next;
	struct seen *seen, *after;

	HASH_ITER(hh, c->services, s, next) {
		struct str name = { 0 };
		utf8_clean(&name, *s->name ? s->name : "(no name)", NAME_BYTES);
		vec_push(&out->services,
			 (struct hot_service){ str_take(&name), s->value, s->nr_nodes });
		HASH_DEL(c->services, s);
		free(s);
	}
	HASH_ITER(hh, c->seen, seen, after) {
		HASH_DEL(c->seen, seen);
		free(seen->key);
		free(seen);
	}
	if (out->services.nr)
		qsort(out->services.at, out->services.nr, sizeof(out->services.at[0]), by_value);
}

void fleet_hot_make(const struct profile *p, const struct controller_state *s,
		    const struct controller_order *o, struct fleet_hot *out)
{
	struct counting c = { 0 };

	*out = (struct fleet_hot){ .profile = p,
				   .unit = p->types.nr ? p->types.at[0].unit : "",
				   .total = p->types.nr ? profile_total(p, 0) : 0,
				   .window_ns = o->duration_s * NS_PER_SEC,
				   .until_wall_ns = time_wall_ns() - o->ago_s * NS_PER_SEC,
				   .nr_matched = s->nr_matched,
				   .nr_delivered = gather_count(s->nodes, GATHER_DELIVERED),
				   .is_estimate = s->is_estimate };
	count_services(p, &c);
	list_services(&c, out);
	if (!p->types.nr)
		return;
	tree_make(p, 0, &out->tree);
	hot_methods_make(p, &out->tree, &out->methods);
}

void fleet_hot_fini(struct fleet_hot *h)
{
	vec_each(s, &h->services)
		free(s->name);
	vec_fini(&h->services);
	hot_methods_fini(&h->methods);
	tree_fini(&h->tree);
}

/* CPU time as CPUs, other values for each second. */
static void add_rate(struct str *out, const struct fleet_hot *h, u64 value)
{
	double seconds = (double)h->window_ns / NS_PER_SEC;

	if (!strcmp(h->unit, "ns"))
		str_addf(out, "%.2f", (double)value / (double)h->window_ns);
	else
		amount_add(out, (u64)((double)value / seconds), h->unit);
}

static void print_head(const struct fleet_hot *h, FILE *out)
{
	auto_str struct str rate = { 0 };
	time_t until = (time_t)(h->until_wall_ns / NS_PER_SEC);
	char clock[16] = "?";
	struct tm local;
	bool is_time = !strcmp(h->unit, "ns");

	if (localtime_r(&until, &local))
		strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	add_rate(&rate, h, h->total);
	fprintf(out, "%zu of %zu matching nodes; %llu s until %s; %s %s%s\n", h->nr_delivered,
		h->nr_matched, (unsigned long long)(h->window_ns / NS_PER_SEC), clock, rate.at,
		is_time ? "CPUs" : h->unit,
		h->is_estimate ? " (estimate for all that match)"
		: is_time      ? ""
			       : " a second");
}

static void print_services(const struct fleet_hot *h, size_t nr, FILE *out)
{
	fprintf(out, "%10s %9s %6s  %s\n", strcmp(h->unit, "ns") ? "A SECOND" : "CPUS", "SHARE",
		"NODES", "SERVICE");
	for (size_t i = 0; i < nr && i < h->services.nr; i++) {
		const struct hot_service *s = &h->services.at[i];
		auto_str struct str rate = { 0 }, share = { 0 }, name = { 0 };
		auto_free char *nodes = s->nr_nodes ? xasprintf("%u", s->nr_nodes) : xstrdup("-");
		add_rate(&rate, h, s->value);
		share_add(&share, s->value, h->total);
		short_name_add(&name, s->name, false, SERVICE_WIDTH);
		fprintf(out, "%10s %9s %6s  %s\n", rate.at, share.at, nodes, name.at);
	}
	if (h->services.nr > nr)
		fprintf(out, "%zu more services\n", h->services.nr - nr);
}

void fleet_hot_print(const struct fleet_hot *h, size_t nr_services, size_t nr_methods, size_t width,
		     FILE *out)
{
	print_head(h, out);
	print_services(h, nr_services, out);
	if (nr_methods && h->profile->types.nr)
		text_top(h->profile, 0, &h->tree, nr_methods, width, out);
}

static json_t *services_json(const struct fleet_hot *h, size_t nr)
{
	json_t *list = json_array();

	for (size_t i = 0; i < nr && i < h->services.nr; i++) {
		const struct hot_service *s = &h->services.at[i];
		json_array_append_new(
			list,
			json_pack("{s:s,s:I,s:o}", "name", s->name, "value", (json_int_t)s->value,
				  "nodes", s->nr_nodes ? json_integer(s->nr_nodes) : json_null()));
	}
	return list;
}

static json_t *methods_json(const struct fleet_hot *h, size_t nr)
{
	json_t *list = json_array();

	for (size_t i = 0; i < nr && i < h->methods.all.nr; i++) {
		const struct hot_method *m = &h->methods.all.at[i];
		auto_str struct str name = { 0 };
		utf8_clean(&name, frames_get(h->profile->frames, m->frame)->name, NAME_BYTES);
		json_array_append_new(list, json_pack("{s:s,s:I,s:I}", "name", name.at ?: "",
						      "self", (json_int_t)m->self, "total",
						      (json_int_t)m->total));
	}
	return list;
}

void fleet_hot_print_json(const struct fleet_hot *h, size_t nr_services, size_t nr_methods,
			  FILE *out)
{
	auto_str struct str unit = { 0 };

	utf8_clean(&unit, h->unit, NAME_BYTES);
	json_t *line = json_pack(
		"{s:I,s:I,s:s,s:I,s:b,s:I,s:I,s:o,s:o}", "until_ms",
		(json_int_t)(h->until_wall_ns / NS_PER_MS), "window_s",
		(json_int_t)(h->window_ns / NS_PER_SEC), "unit", unit.at ?: "", "total",
		(json_int_t)h->total, "is_estimate", h->is_estimate, "matched",
		(json_int_t)h->nr_matched, "delivered", (json_int_t)h->nr_delivered, "services",
		services_json(h, nr_services), "methods", methods_json(h, nr_methods));
	json_dumpf(line, out, JSON_COMPACT);
	fputc('\n', out);
	json_decref(line);
}
