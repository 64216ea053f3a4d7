/* SPDX-License-Identifier: Apache-2.0 */
/* The web process: profiles made of time ranges. */
#include "test.h"

#include <time.h>

#include "web_slices.h"

#define SLICE_MS 10000ull

/* Sends six slices of 10 s, of 1, 10, 100, .. ns. Returns the begin of the first one. */
static u64 send_slices(struct world *w)
{
	u64 first = (time_wall_ns() / NS_PER_MS - 3600 * 1000) / SLICE_MS * SLICE_MS;
	struct slice_writer *writer = slice_writer_new();
	auto_free char *what = xasprintf("GET /api/v1/slices?from_ms=%llu&to_ms=%llu&steps=1",
					 first + 5 * SLICE_MS, first + 6 * SLICE_MS);
	auto_answer struct answer a = { 0 };
	u64 value = 1;

	for (u64 i = 0; i < 6; i++, value *= 10) {
		u64 begin = (first + i * SLICE_MS) * NS_PER_MS;
		send_slice(w, writer, begin, begin + SLICE_MS * NS_PER_MS, value);
	}
	slice_writer_free(writer);
	await_text(w, what, "\"service\":\"main\"", &a);
	return first;
}

/* Compares the slices [before, before_end) with [after, after_end). Returns the profile. */
static json_int_t compare(struct world *w, u64 first, u64 before, u64 before_end, u64 after,
			  u64 after_end)
{
	auto_answer struct answer a = { 0 };
	auto_free char *json = xasprintf("{\"before\":{\"from_ms\":%llu,\"to_ms\":%llu},"
					 "\"after\":{\"from_ms\":%llu,\"to_ms\":%llu}}",
					 first + before * SLICE_MS, first + before_end * SLICE_MS,
					 first + after * SLICE_MS, first + after_end * SLICE_MS);
	auto_free char *type = post(w, "/api/v1/diffs", json, &a);

	assert_string_equal(type, "");
	return number_in(&a, "id");
}

static void ranges_that_are_compared_keep_their_lengths(void **state)
{
	struct world *w = *state;
	auto_answer struct answer a = { 0 };

	u64 first = send_slices(w);
	auto_free char *what = xasprintf("GET /p/%lld/download?format=collapsed",
					 (long long)compare(w, first, 0, 1, 2, 6));
	ask(w, what, BEARER, &a);
	assert_string_equal(a.body, "main 1 111100\n");
}

/* 5 s of the second slice, and 5 s of the third one. */
static void a_range_off_the_grid_has_whole_slices_and_says_so(void **state)
{
	struct world *w = *state;
	auto_answer struct answer a = { 0 };
	unsigned long long from = send_slices(w) + SLICE_MS, to = from + 2 * SLICE_MS;
	auto_free char *off = xasprintf("%llu-%llu", from + 5000, to - 5000);
	auto_free char *shell = xasprintf("GET /s/%s?service=main", off);
	auto_free char *target =
		xasprintf("Location: /s/%llu-%llu?service=main&asked=%s\r\n", from, to, off);
	auto_free char *json =
		xasprintf("{\"from_ms\":%llu,\"to_ms\":%llu}", from + 5000, to - 5000);
	auto_free char *strip = xasprintf("GET /api/v1/slices?from_ms=%llu&to_ms=%llu&steps=1",
					  from + 5000, to - 5000);

	ask(w, shell, BEARER, &a);
	assert_int_equal(a.status, 303);
	assert_non_null(strstr(a.head, target));
	auto_free char *type = post(w, "/api/v1/ranges", json, &a);
	assert_string_equal(type, "");
	assert_int_equal(number_in(&a, "from_ms"), from);
	assert_int_equal(number_in(&a, "to_ms"), to);
	auto_free char *kept =
		xasprintf("GET /p/%lld/download?format=collapsed", (long long)number_in(&a, "id"));
	ask(w, kept, BEARER, &a);
	assert_string_equal(a.body, "main 110\n");
	ask(w, strip, BEARER, &a);
	assert_int_equal(number_in(&a, "from_ms"), from);
	assert_int_equal(number_in(&a, "step_ms"), 2 * SLICE_MS);
}

/* Ten minutes with slices in the first 60 s and the last 60 s, or in all. */
static void send_holed(struct world *w, struct slice_writer *writer, u64 first, bool is_holed)
{
	for (u64 i = 0; i < 60; i++) {
		u64 begin = (first + i * SLICE_MS) * NS_PER_MS;
		if (!is_holed || i < 6 || i >= 54)
			send_slice(w, writer, begin, begin + SLICE_MS * NS_PER_MS, 100);
	}
}

static void missing_time_is_said_and_scaled(void **state)
{
	struct world *w = *state;
	struct slice_writer *writer = slice_writer_new();
	unsigned long long first = (time_wall_ns() / NS_PER_MS - 3600 * 1000) / SLICE_MS * SLICE_MS;
	unsigned long long second = first + 60 * SLICE_MS;
	auto_answer struct answer a = { 0 };
	auto_free char *last = xasprintf("GET /api/v1/slices?from_ms=%llu&to_ms=%llu&steps=1",
					 second + 59 * SLICE_MS, second + 60 * SLICE_MS);
	auto_free char *strip =
		xasprintf("GET /api/v1/slices?from_ms=%llu&to_ms=%llu&steps=1", first, second);
	auto_free char *hole =
		xasprintf("GET /s/%llu-%llu/page", first + 20 * SLICE_MS, first + 30 * SLICE_MS);

	send_holed(w, writer, first, true);
	send_holed(w, writer, second, false);
	slice_writer_free(writer);
	await_text(w, last, "\"service\":\"main\"", &a);

	/* Both use 10 ns per second. */
	unsigned long long id = (unsigned long long)compare(w, first, 0, 60, 60, 120);
	auto_free char *what = xasprintf("GET /p/%llu/download?format=collapsed", id);
	auto_free char *facts = xasprintf("GET /api/v1/profiles/%llu", id);
	ask(w, what, BEARER, &a);
	assert_string_equal(a.body, "main 6000 6000\n");
	await_text(w, facts, "480 s of 600 s have no slices", &a);

	ask(w, strip, BEARER, &a);
	assert_non_null(strstr(a.body, "\"covered_ms\":[120000]"));
	assert_non_null(strstr(a.body, "\"gaps\":[{"));
	ask(w, hole, BEARER, &a);
	assert_int_equal(a.status, 400);
	assert_non_null(strstr(a.body, "There are no slices from "));
	assert_non_null(strstr(a.body, "There were none since "));
}

/* "07:10:00–", as in the name of a range. */
static char *beginning(u64 ms)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm t;
	char clock[16];

	localtime_r(&seconds, &t);
	strftime(clock, sizeof(clock), "%T–", &t);
	return xstrdup(clock);
}

static void compared_ranges_are_named_by_their_times(void **state)
{
	struct world *w = *state;
	auto_answer struct answer a = { 0 };
	u64 first = send_slices(w);
	auto_free char *before = beginning(first), *after = beginning(first + 2 * SLICE_MS);
	auto_free char *what =
		xasprintf("GET /api/v1/profiles/%lld", (long long)compare(w, first, 0, 1, 2, 6));

	ask(w, what, BEARER, &a);
	const char *second = strstr(a.body, " vs node ");
	assert_non_null(strstr(a.body, before));
	assert_true(strstr(a.body, before) < second);
	assert_non_null(strstr(second, after));
}

static void the_strip_of_a_time_too_far_away_is_refused(void **state)
{
	struct world *w = *state;
	auto_answer struct answer a = { 0 };

	ask(w, "GET /api/v1/slices?from_ms=0&to_ms=9223372036854&steps=1", BEARER, &a);
	assert_int_equal(a.status, 400);
	assert_non_null(strstr(a.body, "to_ms"));
	ask(w, "GET /api/v1/slices?from_ms=0&to_ms=4611686018427&steps=1", BEARER, &a);
	assert_int_equal(a.status, 200);
	assert_int_equal(number_in(&a, "nr_steps"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(ranges_that_are_compared_keep_their_lengths),
		IN_A_WORLD(compared_ranges_are_named_by_their_times),
		IN_A_WORLD(a_range_off_the_grid_has_whole_slices_and_says_so),
		IN_A_WORLD(missing_time_is_said_and_scaled),
		IN_A_WORLD(the_strip_of_a_time_too_far_away_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
