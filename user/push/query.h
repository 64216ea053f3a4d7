/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries to a Pyroscope server for profiles that were pushed to it: bodies of POST requests with
 * `application/proto`, and their answers (Connect, unary calls of querier.v1.QuerierService). A
 * profile comes as pprof, which only a worker should read.
 */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "base/vec.h"

#define QUERY_PATH        "/querier.v1.QuerierService/"
#define QUERY_PATH_VALUES QUERY_PATH "LabelValues"
#define QUERY_PATH_SERIES QUERY_PATH "SelectSeries"
#define QUERY_PATH_MERGED QUERY_PATH "SelectMergeProfile"

/* An event as push/bodies.h pushes it. */
struct query_event {
	const char *own, *unit;   /* sysflame's name and unit */
	const char *profile_type; /* "NAME:TYPE:UNIT:PERIOD_TYPE:PERIOD_UNIT" */
};

/* The event of that name, NULL if it is not pushed. */
const struct query_event *query_event_find(const char *own);

/*
 * The label of a series for a label of a node, which may also be "service" or "node". The caller
 * frees it.
 */
char *query_label(const char *key);

/* Appends a matcher to a selector that query_selector_end completes. */
void query_selector_add(struct str *selector, const char *label, bool is_not, const char *value);
void query_selector_end(struct str *selector);

struct query {
	const struct query_event *event;
	const char *selector; /* {service_name="checkout"} */
	u64 from_ms, to_ms;   /* since 1970 */
};

/* Append the body: values of a label; sums by step; the merged profile. */
void query_values_add(const struct query *q, const char *label, struct str *out);
void query_series_add(const struct query *q, u64 step_s, struct str *out);
void query_profile_add(const struct query *q, struct str *out);

#define QUERY_VALUE_MAX 127 /* bytes */

/* The values of a label. */
struct query_values {
	VEC(char *) all; /* owned */
	u32 nr_unusable; /* values that are too long or no clean UTF-8, and are left out */
};

/* -EBADMSG: the bytes are no such answer. */
int query_values_read(const void *bytes, size_t len, struct query_values *out);
void query_values_fini(struct query_values *v);

/* The number of steps with samples; -EBADMSG. */
int query_series_read(const void *bytes, size_t len, u32 *nr_steps);
