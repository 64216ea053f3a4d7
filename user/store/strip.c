/* SPDX-License-Identifier: Apache-2.0 */
/* The use of an event by service and time. Part of store/store_slices.h. */
#include <errno.h>
#include <stdlib.h>

#include "store/store_state.h"

#define STEPS_MAX 10000
#define SLICE_NS  (10 * NS_PER_SEC)

void store_strip_fini(struct store_strip *strip)
{
	vec_each(series, &strip->series) {
		free(series->service);
		vec_fini(&series->values);
	}
	vec_each(event, &strip->events)
		free(*event);
	vec_fini(&strip->covered);
	vec_fini(&strip->all);
	vec_fini(&strip->events);
	vec_fini(&strip->series);
}

static int by_total(const void *a, const void *b)
{
	const struct store_series *x = a, *y = b;

	return x->total > y->total ? -1 : x->total < y->total;
}

/* Appends a series without use. */
static struct store_series *add_series(struct store_strip *strip, char *service)
{
	struct store_series series = { .service = service };

	for (u64 i = 0; i < strip->nr_steps; i++)
		vec_push(&series.values, 0);
	vec_push(&strip->series, series);
	return &strip->series.at[strip->series.nr - 1];
}

/* Reads rows of service, name, step, value, ordered by service. */
static int read_rows(struct store *s, sqlite3_stmt *row, struct store_strip *strip)
{
	struct store_series *series = NULL;
	s64 service = 0;
	int result = row ? SQLITE_ROW : sqlite3_errcode(s->db);

	while (row && (result = sqlite3_step(row)) == SQLITE_ROW) {
		u64 step = (u64)sqlite3_column_int64(row, 2);
		u64 value = (u64)sqlite3_column_int64(row, 3);
		if (!series || sqlite3_column_int64(row, 0) != service)
			series = add_series(strip, index_text(row, 1));
		service = sqlite3_column_int64(row, 0);
		if (step >= strip->nr_steps)
			continue;
		series->values.at[step] += value;
		series->total += value;
	}
	return index_error(s->db, result);
}

/* Reads the use of all services, including those without a series. */
static int read_all(struct store *s, const struct store_strip_query *q, struct store_strip *strip)
{
	auto_stmt sqlite3_stmt *row =
		index_ask(s->db,
			  "SELECT (time_ns - ?1) / ?2 AS step, SUM(value) FROM uses"
			  " WHERE time_ns >= ?1 AND time_ns < ?3 AND event = ?4 GROUP BY step",
			  "iiit", q->from_ns, strip->step_ns, q->to_ns, q->event);
	int result = row ? SQLITE_ROW : sqlite3_errcode(s->db);

	for (u64 i = 0; i < strip->nr_steps; i++)
		vec_push(&strip->all, 0);
	while (row && (result = sqlite3_step(row)) == SQLITE_ROW)
		strip->all.at[sqlite3_column_int64(row, 0)] = (u64)sqlite3_column_int64(row, 1);
	return index_error(s->db, result);
}

static int read_events(struct store *s, const struct store_strip_query *q,
		       struct store_strip *strip)
{
	auto_stmt sqlite3_stmt *row =
		index_ask(s->db,
			  "SELECT DISTINCT event FROM uses WHERE time_ns >= ? AND time_ns < ?"
			  " ORDER BY event",
			  "ii", q->from_ns, q->to_ns);
	int result = row ? SQLITE_ROW : sqlite3_errcode(s->db);

	while (row && (result = sqlite3_step(row)) == SQLITE_ROW)
		vec_push(&strip->events, index_text(row, 0));
	return index_error(s->db, result);
}

/*
 * Reads the time covered by slices of any event: a slice without locks means that there were none.
 */
static int read_covered(struct store *s, const struct store_strip_query *q,
			struct store_strip *strip)
{
	auto_stmt sqlite3_stmt *row =
		index_ask(s->db,
			  "SELECT (begin_ns - ?1) / ?2 AS step, SUM(covered_ns) FROM coverage"
			  " WHERE begin_ns >= ?1 AND begin_ns < ?3 GROUP BY step",
			  "iii", q->from_ns, strip->step_ns, q->to_ns);
	int result = row ? SQLITE_ROW : sqlite3_errcode(s->db);

	for (u64 i = 0; i < strip->nr_steps; i++)
		vec_push(&strip->covered, 0);
	while (row && (result = sqlite3_step(row)) == SQLITE_ROW)
		strip->covered.at[sqlite3_column_int64(row, 0)] = (u64)sqlite3_column_int64(row, 1);
	return index_error(s->db, result);
}

static u64 nr_services(struct store *s, const struct store_strip_query *q)
{
	return index_number(s->db,
			    "SELECT count(DISTINCT service) FROM uses"
			    " WHERE time_ns >= ? AND time_ns < ? AND event = ?",
			    "iit", q->from_ns, q->to_ns, q->event);
}

/* Whole slices, because a slice counts as a whole in the step in which it begins. */
static u64 choose_step(struct store *s, const struct store_strip_query *q)
{
	u64 nr = q->max_steps < STEPS_MAX ? q->max_steps : STEPS_MAX;
	u64 least_ns = (q->to_ns - q->from_ns + nr - 1) / nr;
	u64 slice_ns = store_slices_step(s, q->from_ns, q->to_ns) ?: SLICE_NS;

	return (least_ns + slice_ns - 1) / slice_ns * slice_ns;
}

int store_strip(struct store *s, const struct store_strip_query *q, struct store_strip *out)
{
	struct store_strip strip = { .from_ns = q->from_ns };

	if (q->from_ns >= q->to_ns || q->to_ns > STORE_STRIP_MAX_NS || !q->max_steps)
		return -EINVAL;
	strip.step_ns = choose_step(s, q);
	strip.nr_steps = (q->to_ns - q->from_ns + strip.step_ns - 1) / strip.step_ns;
	auto_stmt sqlite3_stmt *row = index_ask(
		s->db,
		"SELECT service, name, (time_ns - ?1) / ?2 AS step, SUM(value)"
		" FROM uses JOIN services ON services.id = service"
		" WHERE time_ns >= ?1 AND time_ns < ?3 AND event = ?4 AND service IN"
		" (SELECT service FROM uses"
		"  WHERE time_ns >= ?1 AND time_ns < ?3 AND event = ?4"
		"  GROUP BY service ORDER BY SUM(value) DESC, service LIMIT ?5)"
		" GROUP BY service, step ORDER BY service",
		"iiiti", q->from_ns, strip.step_ns, q->to_ns, q->event, (u64)STORE_SERIES_MAX);
	int err = read_rows(s, row, &strip) ?: read_all(s, q, &strip) ?: read_events(s, q, &strip) ?: read_covered(s, q, &strip);
	if (strip.series.nr == STORE_SERIES_MAX)
		strip.nr_left_out = nr_services(s, q) - STORE_SERIES_MAX;
	if (err) {
		store_strip_fini(&strip);
		return err;
	}
	if (strip.series.nr)
		qsort(strip.series.at, strip.series.nr, sizeof(strip.series.at[0]), by_total);
	*out = strip;
	return 0;
}
