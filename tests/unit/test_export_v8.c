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

static char *read_lines(const char *text, u32 *nr_types, u64 *total_ns)
{
	auto_str struct str why = { 0 };
	struct profile *p = profile_new();
	FILE *f = fmemopen((void *)text, strlen(text), "r");

	frames_keep_lines(p->frames);
	assert_int_equal(profile_read(f, p, &why), 0);
	fclose(f);
	char *got = collapsed(p);
	*nr_types = p->types.nr;
	*total_ns = *nr_types > 1 ? profile_total(p, 1) : 0;
	profile_free(p);
	return got;
}

/* `f` begins in line 3 (they count from 0), `g` in line 9. */
#define SAMPLED_LINES                                                                          \
	"{\"nodes\":[" NODE(                                                                   \
		"1", "(root)",                                                                 \
		"2") ","                                                                       \
		     "{\"id\":2,\"callFrame\":{\"functionName\":\"f\",\"url\":\"a.js\","       \
		     "\"lineNumber\":2},"                                                      \
		     "\"hitCount\":7,\"children\":[5],"                                        \
		     "\"positionTicks\":[{\"line\":4,\"ticks\":2},{\"line\":7,\"ticks\":3}]}," \
		     "{\"id\":5,\"callFrame\":{\"functionName\":\"g\",\"url\":\"b.js\","       \
		     "\"lineNumber\":8},"                                                      \
		     "\"hitCount\":2}]"

static void sampled_lines_of_chrome_have_their_ticks(void **state)
{
	u32 nr_types;
	u64 total_ns;
	char *got = read_lines(SAMPLED_LINES "}", &nr_types, &total_ns);

	assert_string_equal(got, "(no stack) 2\nf 2\nf:4 2\nf:7 3\nf;g 2\n");
	assert_int_equal(nr_types, 1);
	free(got);
}

static void lines_of_chrome_share_the_time_of_their_function(void **state)
{
	u32 nr_types;
	u64 total_ns;
	char *got = read_lines(SAMPLED_LINES ",\"samples\":[2,2,5,2],\"timeDeltas\":[5,7,11,2,0]}",
			       &nr_types, &total_ns);

	/* Three samples have five ticks. */
	assert_string_equal(got, "f:4 1\nf:7 2\nf;g 1\n");
	assert_int_equal(total_ns, 20000);
	free(got);
}

#define HEAP_NODE(name, size, children)                                                     \
	"{\"callFrame\":{\"functionName\":\"" name "\",\"url\":\"a.js\",\"lineNumber\":3}," \
	"\"selfSize\":" size ",\"children\":[" children "]}"

static void heap_profiles_of_chrome_are_live_bytes(void **state)
{
	static const char text[] = "{\"head\":" HEAP_NODE(
		"(root)", "0",
		HEAP_NODE("f", "1013", HEAP_NODE("", "2027", "")) "," HEAP_NODE(
			"g", "3041", "")) ",\"samples\":[]}";
	auto_str struct str why = { 0 };
	struct profile *p = read_text(text, 0, &why);
	char *got = collapsed(p);

	assert_string_equal(got, "f 1013\nf;(anonymous) 2027\ng 3041\n");
	assert_string_equal(p->types.at[0].name, "live");
	assert_string_equal(p->types.at[0].unit, "bytes");
	free(got);
	profile_free(p);
}

static void a_damaged_heap_profile_is_refused(void **state)
{
	assert_refused("{\"head\":" HEAP_NODE("(root)", "-1", "") "}", "a node has no size");
	assert_refused("{\"head\":" HEAP_NODE("(root)", "0", "7") "}", "a node has no size");
	assert_refused(
		"{\"head\":" HEAP_NODE("(root)", "9007199254740991", HEAP_NODE("f", "1", "")) "}",
		"add up to more than");
}

static void an_old_profile_of_chrome_is_named(void **state)
{
	assert_refused("{\"head\":{\"functionName\":\"(root)\",\"hitCount\":0}}",
		       "an old CPU profile of Chrome");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_of_chrome_lasts_until_the_next),
		cmocka_unit_test(without_samples_the_hits_of_chrome_count),
		cmocka_unit_test(a_circle_of_nodes_is_refused),
		cmocka_unit_test(sampled_lines_of_chrome_have_their_ticks),
		cmocka_unit_test(lines_of_chrome_share_the_time_of_their_function),
		cmocka_unit_test(heap_profiles_of_chrome_are_live_bytes),
		cmocka_unit_test(a_damaged_heap_profile_is_refused),
		cmocka_unit_test(an_old_profile_of_chrome_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
