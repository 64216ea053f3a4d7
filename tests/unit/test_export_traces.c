/* SPDX-License-Identifier: Apache-2.0 */
/* Which traces a file leaves out. */
#include "test.h"

#include <string.h>

#include "export/format/traces.h"
#include "profile/profile.h"

/* Label sets with a trace of 4 bytes and a span of 2, at slots of time. */
static void add(struct profile *p, const char *trace, const char *span, const char *time)
{
	const struct labels l = { .trace = trace, .span = span, .time = time };

	profile_intern_labels(p, &l);
}

static void assert_out(const struct profile *p, u64 max_bytes, u64 nr, const char *wanted)
{
	u8 used[8], out[8] = { 0 };
	char seen[9] = { 0 };

	memset(used, 1, sizeof(used));
	assert_int_equal(traces_limit(p, used, max_bytes, out), nr);
	for (size_t i = 0; i < p->labels.nr; i++)
		seen[i] = out[i] ? 'x' : '.';
	assert_string_equal(seen, wanted);
}

static void the_trace_that_ended_first_is_left_out_first(void **state)
{
	struct profile *p = profile_new();

	add(p, "aaaa", "s1", "5-90");
	add(p, "bbbb", "s2", "7");
	add(p, "cccc", "s3", "6");
	add(p, "cccc", "s3", "30");
	add(p, "", "", "1");
	assert_out(p, 18, 0, ".....");
	assert_out(p, 17, 1, ".x...");
	assert_out(p, 11, 2, ".xxx.");
	assert_out(p, 0, 3, "xxxx.");
	profile_free(p);
}

static void without_times_the_first_trace_is_the_oldest(void **state)
{
	struct profile *p = profile_new();

	add(p, "bbbb", "s1", "");
	add(p, "aaaa", "s1", "");
	assert_out(p, 6, 1, "x.");
	profile_free(p);
}

static void a_trace_counts_with_all_its_spans(void **state)
{
	struct profile *p = profile_new();

	add(p, "aaaa", "s1", "9");
	add(p, "aaaa", "s2", "9");
	add(p, "aaaa", "s2", "8");
	add(p, "bbbb", "s1", "3");
	assert_out(p, 14, 0, "....");
	assert_out(p, 13, 1, "...x");
	assert_out(p, 7, 2, "xxxx");
	profile_free(p);
}

static void label_sets_without_samples_do_not_count(void **state)
{
	struct profile *p = profile_new();
	const u8 used[] = { 0, 1 };
	u8 out[2] = { 0 };

	add(p, "aaaa", "s1", "");
	add(p, "bbbb", "s1", "");
	assert_int_equal(traces_limit(p, used, 6, out), 0);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_trace_that_ended_first_is_left_out_first),
		cmocka_unit_test(without_times_the_first_trace_is_the_oldest),
		cmocka_unit_test(a_trace_counts_with_all_its_spans),
		cmocka_unit_test(label_sets_without_samples_do_not_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
