/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time limit, which tests/web/test_transforms_in_c, the comparison with the page, cannot check.
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "profile/transform.h"

#define NR_FRAMES 1009

static struct profile *long_profile(void)
{
	struct profile *p = profile_new();
	labels_id none = profile_intern_labels(p, &(struct labels){ 0 });

	profile_add_type(p, "cpu", "samples");
	for (int i = 0; i < NR_FRAMES; i++) {
		char *name = xasprintf("f%d", i);
		profile_add(p,
			    profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, name, "")),
			    none, 0, 1);
		free(name);
	}
	return p;
}

static int apply(struct profile *p, const char *text, u64 most_ns, struct str *why)
{
	auto_transforms struct transforms list = { 0 };

	assert_int_equal(transforms_parse(text, &list, why), 0);
	return transforms_apply(&list, p, most_ns, why);
}

static void every_verb_stops_when_the_time_is_up(void **state)
{
	static const char *const all[] = { "filter f7",
					   "filter /f7/",
					   "filter /f.*;f/",
					   "remove f7",
					   "focus f7",
					   "drop f7",
					   "above f7",
					   "below f7",
					   "recursion",
					   "gaps",
					   "fold f7 -> f8",
					   "replace f -> g",
					   "replace /f(.)/ -> $1;g" };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct profile *p = long_profile();
		auto_str struct str why = { 0 };
		if (apply(p, all[i], 0, &why) != -EDOM)
			fail_msg("'%s' went on", all[i]);
		assert_non_null(strstr(why.at, "takes too long"));
		assert_int_equal(p->nodes.nr, 1 + NR_FRAMES);
		assert_int_equal(profile_total(p, 0), NR_FRAMES);
		assert_int_equal(apply(p, all[i], TRANSFORMS_MOST_NS, &why), 0);
		profile_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_verb_stops_when_the_time_is_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
