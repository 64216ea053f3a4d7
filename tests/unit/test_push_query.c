/* SPDX-License-Identifier: Apache-2.0 */
/* Queries to a store, and answers of one that may lie. tests/fleet/test_fleet_history has the rest.
 */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "export/interchange/pb.h"
#include "push/query.h"

static void a_value_cannot_leave_its_quotes(void **state)
{
	auto_str struct str s = { 0 }, none = { 0 };
	auto_free char *label = query_label("9team.name"), *node = query_label("node");

	query_selector_add(&s, "service_name", false, "a\"} or {x=\"\\");
	query_selector_add(&s, label, true, "b");
	query_selector_end(&s);
	assert_string_equal(s.at, "{service_name=\"a\\\"} or {x=\\\"\\\\\",_team_name!=\"b\"}");
	query_selector_end(&none);
	assert_string_equal(none.at, "{}");
	assert_string_equal(node, "instance");
}

static void only_events_that_are_pushed_are_asked_for(void **state)
{
	const struct query_event *e = query_event_find("cpu");

	assert_string_equal(e->profile_type, "process_cpu:cpu:nanoseconds:cpu:nanoseconds");
	assert_string_equal(query_event_find("alloc")->unit, "bytes");
	assert_null(query_event_find("wall"));
	assert_null(query_event_find("cpu,offcpu"));
}

static void values_that_are_no_texts_are_counted(void **state)
{
	struct query_values v = { .nr_unusable = 0 };
	auto_str struct str answer = { 0 };
	auto_free char *long_value = xcalloc(1, QUERY_VALUE_MAX + 2);

	memset(long_value, 'x', QUERY_VALUE_MAX + 1);
	pb_add_bytes(&answer, 1, "1.2", 3);
	pb_add_bytes(&answer, 1, "a\0b", 3);
	pb_add_bytes(&answer, 1, "\xff", 1);
	pb_add_bytes(&answer, 1, "a\nb", 3);
	pb_add_bytes(&answer, 1, long_value, strlen(long_value));
	pb_add_bytes(&answer, 7, "of another version", 18);
	pb_add_bytes(&answer, 1, "<b>", 3);
	assert_int_equal(query_values_read(answer.at, answer.len, &v), 0);
	assert_int_equal(v.nr_unusable, 4);
	assert_int_equal(v.all.nr, 2);
	assert_string_equal(v.all.at[1], "<b>");
	query_values_fini(&v);
	/* Cut off everywhere: an error, or fewer values. */
	for (size_t len = 0; len < answer.len; len++) {
		auto_free char *cut = xmemdup(answer.at, len ?: 1);
		struct query_values some = { .nr_unusable = 0 };
		int err = query_values_read(cut, len, &some);
		assert_true(err == -EBADMSG || (!err && some.all.nr + some.nr_unusable <= 6));
		query_values_fini(&some);
	}
}

static void add_point(struct str *series, double value, u8 at)
{
	auto_str struct str point = { 0 };

	str_add_char(&point, 1 << 3 | 1);
	str_add_bytes(&point, &value, sizeof(value));
	str_add_char(&point, 2 << 3);
	str_add_char(&point, (char)at);
	pb_add_bytes(series, 2, point.at, point.len);
}

static void steps_with_samples_are_counted_once(void **state)
{
	auto_str struct str series = { 0 }, answer = { 0 };
	u32 nr = 0;

	add_point(&series, 5, 10);
	add_point(&series, 5, 10); /* twice */
	add_point(&series, 0, 20);
	add_point(&series, -1, 30);
	add_point(&series, 0.0 / 0.0, 40);
	add_point(&series, 7, 50);
	pb_add_bytes(&answer, 1, series.at, series.len);
	pb_add_bytes(&answer, 1, "", 0);
	assert_int_equal(query_series_read(answer.at, answer.len, &nr), 0);
	assert_int_equal(nr, 2);
	assert_int_equal(query_series_read("", 0, &nr), 0);
	assert_int_equal(nr, 0);
	assert_int_equal(query_series_read("<html>", 6, &nr), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_cannot_leave_its_quotes),
		cmocka_unit_test(only_events_that_are_pushed_are_asked_for),
		cmocka_unit_test(values_that_are_no_texts_are_counted),
		cmocka_unit_test(steps_with_samples_are_counted_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
