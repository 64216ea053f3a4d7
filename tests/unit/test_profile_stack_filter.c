/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks are chosen by the names of their frames, and turned around. */
#include "formats.h"

#include <stdlib.h>

#include "export/export.h"
#include "profile/stack_filter.h"

static void a_star_at_an_end_is_any_text(void **state)
{
	assert_true(stack_pattern_matches("a.B.c", "a.B.c"));
	assert_false(stack_pattern_matches("a.B", "a.B.c"));
	assert_true(stack_pattern_matches("a.B*", "a.B.c"));
	assert_false(stack_pattern_matches("B*", "a.B.c"));
	assert_true(stack_pattern_matches("*.c", "a.B.c"));
	assert_false(stack_pattern_matches("*.B", "a.B.c"));
	assert_true(stack_pattern_matches("*B*", "a.B.c"));
	assert_true(stack_pattern_matches("*a.B.c*", "a.B.c"));
	assert_false(stack_pattern_matches("*a.B.c.d*", "a.B.c"));
	assert_true(stack_pattern_matches("**", ""));
	assert_false(stack_pattern_matches("a*c", "a.B.c"));
}

static void a_slash_stands_for_a_dot(void **state)
{
	assert_true(stack_pattern_matches("a/B.c", "a.B.c"));
	assert_true(stack_pattern_matches("a/B.c", "a/B.c"));
	assert_false(stack_pattern_matches("a.B.c", "a/B.c"));
}

/* Adds the stack of these frames; the first one may be a level. */
static void add(struct profile *p, enum frame_kind first, const char *const *names, u64 value)
{
	node_id node = 0;

	for (size_t i = 0; names[i]; i++)
		node = profile_child(p, node,
				     frames_intern(p->frames, i ? FRAME_C2 : first, names[i], ""));
	profile_add(p, node, profile_intern_labels(p, &(struct labels){ 0 }), 0, value);
}

static struct profile *some_stacks(void)
{
	struct profile *p = profile_new();

	profile_add_type(p, "cpu", "samples");
	add(p, FRAME_GROUP, (const char *const[]){ "java", "a.B.main", "a.B.x", NULL }, 3);
	add(p, FRAME_GROUP, (const char *const[]){ "java", "a.B.main", "a.C.y(int)void", NULL }, 5);
	add(p, FRAME_GROUP, (const char *const[]){ "java", "a.B.main", NULL }, 7);
	return p;
}

static void assert_stacks(const struct profile *p, const char *expected)
{
	struct str text = written(p, "collapsed");

	assert_string_equal(text.at, expected);
	str_fini(&text);
}

static void a_stack_needs_one_included_and_no_excluded_frame(void **state)
{
	static const char *const main_and_x[] = { "a.B.main", "none" }, *const y[] = { "*.y" };
	struct profile *p = some_stacks();
	const struct stack_filter f = { main_and_x, y, 2, 1 };

	assert_int_equal(profile_filter_stacks(p, &f), 5);
	assert_stacks(p, "java;a.B.main 7\njava;a.B.main;a.B.x 3\n");
	profile_free(p);
}

static void levels_have_no_name(void **state)
{
	static const char *const level[] = { "java" };
	struct profile *p = some_stacks();

	assert_int_equal(profile_filter_stacks(p, &(struct stack_filter){ NULL, level, 0, 1 }), 0);
	assert_int_equal(profile_filter_stacks(p, &(struct stack_filter){ level, NULL, 1, 0 }), 15);
	assert_int_equal(p->weights.nr, 0);
	profile_free(p);
}

static void a_stack_turned_around_begins_with_its_leaf_below_the_levels(void **state)
{
	struct profile *p = some_stacks();

	profile_reverse(p);
	assert_stacks(p,
		      "java;a.B.main 7\njava;a.B.x;a.B.main 3\njava;a.C.y(int)void;a.B.main 5\n");
	profile_reverse(p);
	assert_stacks(p,
		      "java;a.B.main 7\njava;a.B.main;a.B.x 3\njava;a.B.main;a.C.y(int)void 5\n");
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_star_at_an_end_is_any_text),
		cmocka_unit_test(a_slash_stands_for_a_dot),
		cmocka_unit_test(a_stack_needs_one_included_and_no_excluded_frame),
		cmocka_unit_test(levels_have_no_name),
		cmocka_unit_test(a_stack_turned_around_begins_with_its_leaf_below_the_levels),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
