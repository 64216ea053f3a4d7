/* SPDX-License-Identifier: Apache-2.0 */
/* Makes requests from the profile of a minute. */
#include "push/bodies.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/auto.h"
#include "export/export.h"
#include "export/interchange/external.h"
#include "export/interchange/pb.h"
#include "push/split.h"

#include "push.pb-c.h"

/* The names of events that other profilers for these receivers use. */
struct event_name {
	const char *own, *pushed; /* the value type */
	const char *profile;      /* __name__ */
};

static const struct event_name events[] = {
	{ "cpu", "cpu", "process_cpu" },
	{ "offcpu", "offcpu", "offcpu" },
	{ "alloc", "alloc_space", "memory" },
	{ "lock", "delay", "mutex" },
};

static void write_format(const struct profile *p, const char *name, struct str *out)
{
	FILE *f = open_memstream(&out->at, &out->len);

	format_by_name(name)->write(p, f);
	fclose(f);
}

static int add_gzip(const struct str *plain, struct str *out)
{
	z_stream z = { .next_in = (u8 *)plain->at, .avail_in = (uInt)plain->len };

	if (plain->len > UINT32_MAX || deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16,
						    8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -EFBIG;
	size_t bound = deflateBound(&z, plain->len);
	auto_free u8 *packed = xmalloc(bound);
	z.next_out = packed;
	z.avail_out = (uInt)bound;
	int result = deflate(&z, Z_FINISH);
	str_add_bytes(out, packed, z.total_out);
	deflateEnd(&z);
	return result == Z_STREAM_END ? 0 : -EIO;
}

static int make_otlp(const struct profile *p, const char *service, const char *host,
		     struct str *out)
{
	auto_str struct str plain = { 0 };

	write_format(p, "otlp", &plain);
	return add_gzip(&plain, out);
}

/* The pprof of one event; false if it has no samples. */
static bool make_pprof(const struct profile *p, const struct event_name *e, struct str *out)
{
	auto_profile struct profile *one = split_event(p, e->pushed, e->own);

	if (!one->weights.nr)
		return false;
	write_format(one, "pprof", out);
	return true;
}

/* The labels of a series. Names of labels have letters, digits and _ only. */
#define SERIES_LABELS 68 /* web_params.labels holds 64 of 4 bytes */
struct series {
	char *text; /* of the labels of the node, cut into names and values */
	Push__Label at[SERIES_LABELS], *list[SERIES_LABELS];
	size_t nr;
};

static void series_fini(struct series *s)
{
	free(s->text);
}

#define auto_series __attribute__((cleanup(series_fini)))

static void series_add(struct series *s, const char *name, const char *value)
{
	if (s->nr == SERIES_LABELS)
		return;
	s->at[s->nr] = (Push__Label)PUSH__LABEL__INIT;
	s->at[s->nr].name = (char *)name;
	s->at[s->nr].value = (char *)value;
	s->list[s->nr] = &s->at[s->nr];
	s->nr++;
}

static bool series_has(const struct series *s, const char *name)
{
	for (size_t i = 0; i < s->nr; i++)
		if (!strcmp(s->at[i].name, name))
			return true;
	return false;
}

static void make_series_name(char *key)
{
	for (char *c = key; *c; c++)
		if (!isalnum((u8)*c) || (c == key && isdigit((u8)*c)))
			*c = '_';
}

static void series_add_node(struct series *s, const char *labels)
{
	s->text = xstrdup(labels);
	char *rest = s->text, *key, *value;

	while (node_labels_next(&rest, &key, &value)) {
		make_series_name(key);
		if (!series_has(s, key)) /* see push_labels_check */
			series_add(s, key, value);
	}
}

static void series_add_own(struct series *s, const char *name, const char *service,
			   const char *host)
{
	series_add(s, "__name__", name);
	series_add(s, "service_name", service);
	series_add(s, "instance", host);
}

static void series_init(struct series *s, const struct event_name *e, const char *service,
			const char *host, const char *labels)
{
	s->nr = 0;
	series_add_own(s, e->profile, service, host);
	series_add_node(s, labels);
}

int push_labels_check(const char *labels, struct str *why)
{
	auto_series struct series s = { .text = xstrdup(labels) };
	char *rest = s.text, *key, *value;

	series_add_own(&s, "", "", "");
	while (node_labels_next(&rest, &key, &value)) {
		auto_free char *given = xstrdup(key);
		make_series_name(key);
		if (otlp_is_reserved(given) || series_has(&s, key)) {
			str_addf(why,
				 "%s: receivers get another label of this name; in names, "
				 "pyroscope and parca have _ for all but letters and digits",
				 given);
			return -EEXIST;
		}
		series_add(&s, key, value);
	}
	return 0;
}

static int make_pyroscope(const struct profile *p, const char *service, const char *host,
			  struct str *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		auto_str struct str pprof = { 0 };
		auto_series struct series labels = { 0 };
		if (!make_pprof(p, &events[i], &pprof))
			continue;
		auto_free char *id = split_id(p, service, events[i].profile, host);
		Push__Raw raw = PUSH__RAW__INIT, *raws = &raw;
		Push__Series series = PUSH__SERIES__INIT, *all = &series;
		Push__PyroscopeRequest request = PUSH__PYROSCOPE_REQUEST__INIT;
		series_init(&labels, &events[i], service, host, p->node_labels);
		raw.pprof = (ProtobufCBinaryData){ pprof.len, (u8 *)pprof.at };
		raw.id = id;
		series.n_labels = labels.nr;
		series.labels = labels.list;
		series.n_samples = 1;
		series.samples = &raws;
		request.n_series = 1;
		request.series = &all;
		pb_add(out, &request);
	}
	return 0;
}

static void add_base64(struct str *out, const struct str *bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < bytes->len; i += 3) {
		size_t nr = bytes->len - i < 3 ? bytes->len - i : 3;
		u32 group = 0;
		for (size_t k = 0; k < 3; k++)
			group = group << 8 | (k < nr ? (u8)bytes->at[i + k] : 0);
		for (size_t k = 0; k < 4; k++)
			str_add_char(out, k <= nr ? digits[group >> (18 - 6 * k) & 63] : '=');
	}
}

/* Texts are UTF-8 without control characters. */
static void add_label(struct str *out, const char *name, const char *value)
{
	str_addf(out, "%s{\"name\":\"%s\",\"value\":\"", out->at[out->len - 1] == '[' ? "" : ",",
		 name);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			str_add_char(out, '\\');
		str_add_char(out, *value);
	}
	str_add(out, "\"}");
}

static int make_parca(const struct profile *p, const char *service, const char *host,
		      struct str *out)
{
	str_add(out, "{\"series\":[");
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		auto_str struct str pprof = { 0 };
		auto_series struct series labels = { 0 };
		if (!make_pprof(p, &events[i], &pprof))
			continue;
		if (out->at[out->len - 1] == '}')
			str_add_char(out, ',');
		str_add(out, "{\"labels\":{\"labels\":[");
		series_init(&labels, &events[i], service, host, p->node_labels);
		for (size_t k = 0; k < labels.nr; k++)
			add_label(out, labels.at[k].name, labels.at[k].value);
		str_add(out, "]},\"samples\":[{\"rawProfile\":\"");
		add_base64(out, &pprof);
		str_add(out, "\"}]}");
	}
	str_add(out, "]}");
	return 0;
}

typedef int (*make_fn)(const struct profile *p, const char *service, const char *host,
		       struct str *out);

static const make_fn make[NR_RECEIVERS] = {
	[RECEIVER_OTLP] = make_otlp,
	[RECEIVER_PYROSCOPE] = make_pyroscope,
	[RECEIVER_PARCA] = make_parca,
};

/* pprof has the service in the labels of its series. */
static int add_service(const struct split *s, u32 service, u32 kinds, const char *host,
		       struct str *out)
{
	const char *name = split_name(s, service);

	for (u32 kind = 0; kind < NR_RECEIVERS; kind++) {
		auto_str struct str body = { 0 };
		if (!(kinds & 1u << kind))
			continue;
		auto_profile struct profile *p = split_service(s, service, kind == RECEIVER_OTLP);
		int err = make[kind](p, name, host, &body);
		if (err)
			return err;
		const struct push_head head = { kind, (u32)strlen(name), (u32)body.len };
		if (body.len > UINT32_MAX)
			return -EFBIG;
		str_add_bytes(out, &head, sizeof(head));
		str_add_bytes(out, name, head.service_len);
		str_add_bytes(out, body.at, body.len);
	}
	return 0;
}

static void rename_types(struct profile *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		vec_each(t, &p->types)
			if (!strcmp(t->name, events[i].own)) {
				free(t->name);
				t->name = xstrdup(events[i].pushed);
			}
}

int push_bodies(struct profile *p, u32 kinds, const char *host, struct str *out)
{
	int err = 0;

	rename_types(p);
	struct split *s = split_new(p, PUSH_SERVICES, PUSH_STACKS_MAX);
	for (u32 i = 0; !err && i < split_nr(s); i++)
		err = add_service(s, i, kinds, host, out);
	split_free(s);
	return err;
}
