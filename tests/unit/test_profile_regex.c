/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that tests/web/test_transforms_in_c, which compares with the page, cannot make. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "base/time.h"
#include "profile/frames/regex.h"

/* A single text may be searched once per character, each time almost up to the limit. */
static void replacing_in_a_single_text_ends_with_the_time(void **state)
{
	auto_str struct str why = { 0 }, out = { 0 };
	struct regex *r;
	char text[1009];

	memset(text, 'a', sizeof(text));
	assert_int_equal(regex_new("a", &r, &why), 0);
	assert_int_equal(regex_replace(r, text, sizeof(text), "b", &out), 1);
	regex_set_end(r, time_mono_ns() - 1);
	assert_int_equal(regex_replace(r, text, sizeof(text), "b", &out), -EDOM);
	regex_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replacing_in_a_single_text_ends_with_the_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
