/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of V8, as Chrome and Node write them. */
#include "test.h"

#include "profile_text.h"

#define NODE(id, name, children)                                                    \
	"{\"id\":" id ",\"callFrame\":{\"functionName\":\"" name "\",\"url\":\"\"," \
	"\"lineNumber\":-1},\"hitCount\":2,\"children\":[" children "]}"

static void a_sample_of_chrome_lasts_until_the_next(void **state)
{
	static const char text[] =
		"{\"nodes\":[" NODE("1", "(root)", "2") "," NODE("2", "f", "5") "," NODE(
			"5", "", "") "],\"startTime\":0,\"endTime\":60,"
				     "\"samples\":[2,5,5],\"timeDeltas\":[5,10,20]}";
	auto_str struct str why = { 0 };
	struct profile *p = read_text(text, 0, &why);
	char *got = collapsed(p);

	assert_string_equal(got, "f 1\nf;(anonymous) 2\n");
	assert_string_equal(p->types.at[1].unit, "ns");
	assert_int_equal(profile_total(p, 1), 30000);
	free(got);
	profile_free(p);
}

static void without_samples_the_hits_of_chrome_count(void **state)
{
	assert_reads("{\"nodes\":[" NODE("1", "(root)", "2") "," NODE("2", "f", "") "]}",
		     "(no stack) 2\nf 2\n");
}

static void a_circle_of_nodes_is_refused(void **state)
{
	assert_refused(
		"{\"nodes\":[" NODE("1", "a", "2") "," NODE("2", "b", "1") "],\"samples\":[2],"
									   "\"timeDeltas\":[1]}",
		"or is its own");
	assert_refused("{\"nodes\":[" NODE("1", "a", "7") "]}", "a child that does not exist");
	assert_refused("{\"nodes\":[" NODE("1", "a", "") "," NODE("1", "a", "") "]}",
		       "two have the same");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_of_chrome_lasts_until_the_next),
		cmocka_unit_test(without_samples_the_hits_of_chrome_count),
		cmocka_unit_test(a_circle_of_nodes_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
