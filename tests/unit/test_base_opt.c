/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/opt.h"
#include "base/vec.h"

struct fields {
	bool quiet, verbose;
	int freq;
	const char *output, *text, *url;
	double seconds;
	struct opt_list names;
	struct opt_pairs pairs;
};

static int parse(struct fields *f, int argc, char **argv)
{
	const struct opt opts[] = {
		{ 'q', "quiet", OPT_BOOL, &f->quiet, NULL, "" },
		{ 'v', "verbose", OPT_BOOL, &f->verbose, NULL, "" },
		{ 'F', "freq", OPT_INT, &f->freq, "HZ", "" },
		{ 'o', "output", OPT_STRING, &f->output, "FILE", "" },
		{ 0, "text", OPT_TEXT, &f->text, "TEXT", "" },
		{ 0, "url", OPT_MAYBE, &f->url, "URL", "" },
		{ 0, "seconds", OPT_DOUBLE, &f->seconds, "SEC", "" },
		{ 'n', "name", OPT_LIST, &f->names, "NAME", "" },
		{ 'a', "first", OPT_PAIRS, &f->pairs, "X", "" },
		{ 0, "second", OPT_PAIRS, &f->pairs, "X", "" },
	};
	return opt_parse(opts, ARRAY_SIZE(opts), argc, argv);
}

#define PARSE(f, ...)                                        \
	({                                                   \
		char *argv[] = { "cmd", __VA_ARGS__, NULL }; \
		parse(f, (int)ARRAY_SIZE(argv) - 1, argv);   \
	})

static void values_are_read_joined_and_separate(void **state)
{
	struct fields f = { 0 };

	assert_int_equal(PARSE(&f, "-F99", "-o", "x", "--seconds=1.5", "rest"), 5);
	assert_int_equal(f.freq, 99);
	assert_string_equal(f.output, "x");
	assert_true(f.seconds == 1.5);
	assert_int_equal(PARSE(&f, "--freq", "-7", "-qv"), 4);
	assert_int_equal(f.freq, -7);
	assert_true(f.quiet && f.verbose);
}

static void a_value_that_may_be_missing_follows_an_equals_sign(void **state)
{
	struct fields f = { 0 };

	assert_int_equal(PARSE(&f, "--url", "rest"), 2);
	assert_string_equal(f.url, "");
	assert_int_equal(PARSE(&f, "--url=x", "rest"), 2);
	assert_string_equal(f.url, "x");
	assert_int_equal(PARSE(&f, "--url="), -EINVAL);
}

static void a_text_may_be_empty(void **state)
{
	struct fields f = { 0 };

	assert_int_equal(PARSE(&f, "--text", ""), 3);
	assert_string_equal(f.text, "");
	f.text = NULL;
	assert_int_equal(PARSE(&f, "--text="), 2);
	assert_string_equal(f.text, "");
}

static void a_list_keeps_all_its_values_in_order(void **state)
{
	struct fields f = { 0 };

	assert_int_equal(PARSE(&f, "-n", "one", "--name=two", "-nthree"), 5);
	assert_int_equal(f.names.nr, 3);
	assert_string_equal(f.names.at[0], "one");
	assert_string_equal(f.names.at[2], "three");
	vec_fini(&f.names);
}

static void pairs_keep_the_order_of_several_options(void **state)
{
	struct fields f = { 0 };

	assert_int_equal(PARSE(&f, "-a", "one", "--second=two", "--first", "three"), 6);
	assert_int_equal(f.pairs.nr, 3);
	assert_string_equal(f.pairs.at[1].option, "second");
	assert_string_equal(f.pairs.at[1].value, "two");
	assert_string_equal(f.pairs.at[2].option, "first");
	assert_string_equal(f.pairs.at[2].value, "three");
	vec_fini(&f.pairs);
}

static void a_double_dash_and_a_lone_dash_end_the_options(void **state)
{
	struct fields f = { 0 };

	assert_int_equal(PARSE(&f, "-q", "--", "-v"), 3);
	assert_false(f.verbose);
	assert_int_equal(PARSE(&f, "-", "-v"), 1);
	assert_false(f.verbose);
}

static void an_invalid_word_is_refused(void **state)
{
	struct fields f = { 0 };
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), err = dup(2);

	dup2(null, 2);
	assert_int_equal(PARSE(&f, "--nonsense"), -EINVAL);
	assert_int_equal(PARSE(&f, "-x"), -EINVAL);
	assert_int_equal(PARSE(&f, "-F"), -EINVAL);
	assert_int_equal(PARSE(&f, "-F", "9x"), -EINVAL);
	assert_int_equal(PARSE(&f, "-F", ""), -EINVAL);
	assert_int_equal(PARSE(&f, "-F", "99999999999"), -EINVAL);
	assert_int_equal(PARSE(&f, "-o", ""), -EINVAL);
	assert_int_equal(PARSE(&f, "--output="), -EINVAL);
	assert_int_equal(PARSE(&f, "-n", ""), -EINVAL);
	assert_int_equal(PARSE(&f, "--seconds", "nan"), -EINVAL);
	assert_int_equal(PARSE(&f, "--quiet=1"), -EINVAL);
	dup2(err, 2);
	close(null);
	close(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_read_joined_and_separate),
		cmocka_unit_test(a_value_that_may_be_missing_follows_an_equals_sign),
		cmocka_unit_test(a_text_may_be_empty),
		cmocka_unit_test(a_list_keeps_all_its_values_in_order),
		cmocka_unit_test(pairs_keep_the_order_of_several_options),
		cmocka_unit_test(a_double_dash_and_a_lone_dash_end_the_options),
		cmocka_unit_test(an_invalid_word_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
