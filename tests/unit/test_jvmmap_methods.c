/* SPDX-License-Identifier: Apache-2.0 */
/* Which methods of a class the agent hooks. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "jvmmap/methods.c"

/* Stand-ins for the functions of other files of the agent that these tests call. */
int session_is_wanted(struct session *s, uint64_t now_ns)
{
	return 0;
}

jvmtiError running_find(jvmtiEnv *env, const jclass *classes, int nr, struct running *out)
{
	return JVMTI_ERROR_INTERNAL;
}

size_t class_of_hook(const char *name, uint8_t out[CLASS_BYTES])
{
	out[0] = 0;
	return 1;
}

size_t class_work(const uint8_t *file, size_t len)
{
	return 1;
}

/* Hooks each method it is called for, and counts them. */
static int nr_hooked;
static struct class_method first_hooked;

size_t class_hook(const uint8_t *file, size_t len, struct class_hook *hook, uint32_t *work,
		  uint8_t *out, size_t room)
{
	for (int i = 0; i < hook->nr; i++)
		hook->methods[i].hooked = hook->methods[i].wants;
	nr_hooked = hook->nr;
	first_hooked = hook->methods[0];
	return 1;
}

static jvmtiError JNICALL allocate(jvmtiEnv *env, jlong size, unsigned char **out)
{
	*out = test_malloc((size_t)size);
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL deallocate(jvmtiEnv *env, unsigned char *at)
{
	test_free(at);
	return JVMTI_ERROR_NONE;
}

static const struct jvmtiInterface_1_ functions = {
	.Allocate = allocate,
	.Deallocate = deallocate,
};

/* The sessions want METHODS methods of a/B, "a/B.PREFIX0" and so on. */
static void want(const char *prefix)
{
	char text[32];

	methods.nr_next = 0;
	for (int i = 0; i < METHODS; i++) {
		int len = snprintf(text, sizeof(text), "a/B.%s%d", prefix, i);
		add_wanted(text, (size_t)len);
	}
	assert_int_equal(methods.nr_next, METHODS);
}

/* The class is retransformed. Returns the number of methods that are hooked in it. */
static int retransform_class(void)
{
	jvmtiEnv env = &functions;
	unsigned char *out = NULL;
	jint len = 0;
	char class;

	nr_hooked = 0;
	on_class(&env, NULL, (jclass)(void *)&class, NULL, "a/B", NULL, 0,
		 (const unsigned char *)"", &len, &out);
	if (out)
		test_free(out);
	return nr_hooked;
}

static void all_wanted_methods_are_hooked(void **state)
{
	memset(&methods, 0, sizeof(methods));
	want("first");
	assert_int_equal(retransform_class(), METHODS);
	for (int i = 0; i < METHODS; i++)
		assert_true(methods.next[i].is_hooked);
}

/* The class has as many entries as there are places: those it had and those that are wanted. */
static void a_class_that_stays_changed_keeps_its_hooks_only(void **state)
{
	memset(&methods, 0, sizeof(methods));
	want("first");
	retransform_class();
	memcpy(methods.now, methods.next, sizeof(methods.now));
	methods.nr_now = methods.nr_next;
	want("second");
	keep("a/B", 3);
	assert_int_equal(methods.nr_next, PLACES);
	assert_int_equal(retransform_class(), METHODS);
	for (int i = 0; i < PLACES; i++)
		assert_int_equal(methods.next[i].is_hooked, i >= METHODS);
}

static void a_class_that_stays_unchanged_gets_no_hook(void **state)
{
	memset(&methods, 0, sizeof(methods));
	want("first");
	keep("a/B", 3);
	assert_int_equal(retransform_class(), 0);
	assert_false(methods.next[0].is_hooked);
}

static void want_list(const char *list)
{
	methods.nr_next = 0;
	for (; *list; list += strcspn(list, ",") + (strchr(list, ',') != NULL))
		add_wanted(list, strcspn(list, ","));
}

static void of_several_times_a_method_compares_with_the_least(void **state)
{
	memset(&methods, 0, sizeof(methods));
	want_list("a/B.run:50000000,a/B.run:9000000,a/B.run:70000000");
	assert_int_equal(retransform_class(), 1);
	assert_int_equal(first_hooked.min_ns, 9000000);
	assert_int_equal(first_hooked.wants, CLASS_LASTED);
	assert_int_equal(first_hooked.number, wire_method_number("a/B.run", 7));
	for (int i = 0; i < 3; i++)
		assert_true(methods.next[i].is_hooked);
}

static void a_method_can_have_both_hooks(void **state)
{
	memset(&methods, 0, sizeof(methods));
	want_list("a/B.run,a/B.run:50000000,a/B.run");
	assert_int_equal(methods.nr_next, 2);
	assert_int_equal(retransform_class(), 1);
	assert_int_equal(first_hooked.wants, CLASS_ENTERED | CLASS_LASTED);
	assert_memory_equal(first_hooked.name, "run", first_hooked.len);
}

static void another_time_is_another_request(void **state)
{
	memset(&methods, 0, sizeof(methods));
	want_list("a/B.run:50000000");
	retransform_class();
	memcpy(methods.now, methods.next, sizeof(methods.now));
	methods.nr_now = methods.nr_next;
	assert_true(is_done());
	want_list("a/B.run:60000000");
	assert_false(is_done());
	want_list("a/B.run");
	assert_false(is_done());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_wanted_methods_are_hooked),
		cmocka_unit_test(a_class_that_stays_changed_keeps_its_hooks_only),
		cmocka_unit_test(a_class_that_stays_unchanged_gets_no_hook),
		cmocka_unit_test(of_several_times_a_method_compares_with_the_least),
		cmocka_unit_test(a_method_can_have_both_hooks),
		cmocka_unit_test(another_time_is_another_request),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
