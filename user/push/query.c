/* SPDX-License-Identifier: Apache-2.0 */
/* Queries to a Pyroscope server for profiles that were pushed to it. */
#include "push/query.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "export/interchange/pb.h"

#include "push.pb-c.h"

#define POINTS_MAX (1u << 16)

const struct query_event *query_event_find(const char *own)
{
	static const struct query_event events[] = {
		{ "cpu", "ns", "process_cpu:cpu:nanoseconds:cpu:nanoseconds" },
		{ "offcpu", "ns", "offcpu:offcpu:nanoseconds:offcpu:nanoseconds" },
		{ "alloc", "bytes", "memory:alloc_space:bytes:alloc_space:bytes" },
		{ "lock", "ns", "mutex:delay:nanoseconds:delay:nanoseconds" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (!strcmp(events[i].own, own))
			return &events[i];
	return NULL;
}

char *query_label(const char *key)
{
	if (!strcmp(key, "service"))
		return xstrdup("service_name");
	if (!strcmp(key, "node"))
		return xstrdup("instance");
	char *label = xstrdup(key);
	for (char *c = label; *c; c++)
		if (!isalnum((u8)*c) || (c == label && isdigit((u8)*c)))
			*c = '_';
	return label;
}

/* The value is UTF-8 without control characters. */
void query_selector_add(struct str *selector, const char *label, bool is_not, const char *value)
{
	str_addf(selector, "%s%s%s\"", selector->len ? "," : "{", label, is_not ? "!=" : "=");
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			str_add_char(selector, '\\');
		str_add_char(selector, *value);
	}
	str_add_char(selector, '"');
}

void query_selector_end(struct str *selector)
{
	str_add(selector, selector->len ? "}" : "{}");
}

void query_values_add(const struct query *q, const char *label, struct str *out)
{
	Push__QueryValues m = PUSH__QUERY_VALUES__INIT;
	char *matcher = (char *)q->selector;

	m.name = (char *)label;
	m.n_matchers = 1;
	m.matchers = &matcher;
	m.start_ms = (int64_t)q->from_ms;
	m.end_ms = (int64_t)q->to_ms;
	pb_add(out, &m);
}

void query_series_add(const struct query *q, u64 step_s, struct str *out)
{
	Push__QuerySeries m = PUSH__QUERY_SERIES__INIT;

	m.profile_type = (char *)q->event->profile_type;
	m.selector = (char *)q->selector;
	m.start_ms = (int64_t)q->from_ms;
	m.end_ms = (int64_t)q->to_ms;
	m.step_s = (double)step_s;
	pb_add(out, &m);
}

void query_profile_add(const struct query *q, struct str *out)
{
	Push__QueryProfile m = PUSH__QUERY_PROFILE__INIT;

	m.profile_type = (char *)q->event->profile_type;
	m.selector = (char *)q->selector;
	m.start_ms = (int64_t)q->from_ms;
	m.end_ms = (int64_t)q->to_ms;
	pb_add(out, &m);
}

void query_values_fini(struct query_values *v)
{
	vec_each(value, &v->all)
		free(*value);
	vec_fini(&v->all);
}

int query_values_read(const void *bytes, size_t len, struct query_values *out)
{
	struct pb_reader r = pb_read(bytes, len);
	struct pb_field f;
	int more;

	while ((more = pb_next(&r, &f)) > 0) {
		if (f.number != 1 || !f.is_bytes)
			continue;
		char *value = f.len <= QUERY_VALUE_MAX ? xstrndup((const char *)f.at, f.len) : NULL;
		if (value && strlen(value) == f.len && utf8_is_clean(value, QUERY_VALUE_MAX)) {
			vec_push(&out->all, value);
		} else {
			out->nr_unusable++;
			free(value);
		}
	}
	if (more)
		query_values_fini(out);
	return more ? -EBADMSG : 0;
}

/* A point of a series has a value that is a double other than 0, and a time. */
static bool point_read(const struct pb_field *point, u64 *at_ms)
{
	struct pb_reader r = pb_read(point->at, point->len);
	struct pb_field f;
	double value = 0;

	*at_ms = 0;
	while (pb_next(&r, &f) > 0) {
		if (f.number == 1 && !f.is_bytes)
			memcpy(&value, &f.value, sizeof(value));
		else if (f.number == 2 && !f.is_bytes)
			*at_ms = f.value;
	}
	return value > 0 && *at_ms;
}

/* Of one series: times come in their order, each once. */
static u32 count_points(const struct pb_field *series)
{
	struct pb_reader r = pb_read(series->at, series->len);
	struct pb_field f;
	u64 at_ms, last_ms = 0;
	u32 nr = 0;

	while (nr < POINTS_MAX && pb_next(&r, &f) > 0) {
		if (f.number != 2 || !f.is_bytes || !point_read(&f, &at_ms) || at_ms <= last_ms)
			continue;
		last_ms = at_ms;
		nr++;
	}
	return nr;
}

int query_series_read(const void *bytes, size_t len, u32 *nr_steps)
{
	struct pb_reader r = pb_read(bytes, len);
	struct pb_field f;
	u32 most = 0;
	int more;

	while ((more = pb_next(&r, &f)) > 0) {
		u32 nr = f.number == 1 && f.is_bytes ? count_points(&f) : 0;
		most = nr > most ? nr : most;
	}
	if (more)
		return -EBADMSG;
	*nr_steps = most;
	return 0;
}
