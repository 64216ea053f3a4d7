/* SPDX-License-Identifier: Apache-2.0 */
/* Which classes the agent changes, and which methods of them it hooks. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "jvmmap/methods.c"

/* Stand-ins for the functions of other files of the agent that these tests call. */
int session_is_wanted(struct session *s, uint64_t now_ns)
{
	return 0;
}

#define CLASSES 150 /* several batches */

/* Loaded classes, all of the same name. `objects[i]` is the i-th one, and whether it is changed. */
struct world {
	char objects[CLASSES];
	const char *name;     /* "La/B;" */
	const char *busy;     /* one of the objects: a loop runs in it */
	const char *rigid;    /* one that cannot change */
	int nr_retransformed; /* so far */
};

static struct world world;

jvmtiError running_find(jvmtiEnv *env, const jclass *classes, int nr, struct running *out)
{
	assert_in_range(nr, 1, RUNNING_CLASSES);
	memset(out, 0, sizeof(*out));
	for (int i = 0; i < nr; i++)
		out->is_busy[i] = (const char *)(const void *)classes[i] == world.busy;
	return JVMTI_ERROR_NONE;
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

static jvmtiError JNICALL loaded_classes(jvmtiEnv *env, jint *nr, jclass **out)
{
	*out = test_malloc(CLASSES * sizeof(**out));
	for (int i = 0; i < CLASSES; i++)
		(*out)[i] = (jclass)(void *)&world.objects[i];
	*nr = CLASSES;
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL class_signature(jvmtiEnv *env, jclass class, char **out, char **generic)
{
	*out = test_malloc(strlen(world.name) + 1);
	strcpy(*out, world.name);
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL is_modifiable(jvmtiEnv *env, jclass class, jboolean *out)
{
	*out = 1;
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL set_mode(jvmtiEnv *env, jvmtiEventMode mode, jvmtiEvent event, jthread t,
				   ...)
{
	return JVMTI_ERROR_NONE;
}

/* Changes all of the classes or none. */
static jvmtiError JNICALL retransform_classes(jvmtiEnv *env, jint nr, const jclass *classes)
{
	for (int i = 0; i < nr; i++)
		if ((const char *)(const void *)classes[i] == world.rigid)
			return JVMTI_ERROR_FAILS_VERIFICATION;
	for (int i = 0; i < nr; i++) {
		unsigned char *out = NULL;
		jint len = 0;
		char name[8] = { 0 };
		memcpy(name, world.name + 1, strlen(world.name) - 2);
		on_class(env, NULL, classes[i], NULL, name, NULL, 0, (const unsigned char *)"",
			 &len, &out);
		*(char *)(void *)classes[i] = out != NULL;
		if (out)
			test_free(out);
	}
	world.nr_retransformed += nr;
	return JVMTI_ERROR_NONE;
}

static const struct jvmtiInterface_1_ functions = {
	.Allocate = allocate,
	.Deallocate = deallocate,
	.GetLoadedClasses = loaded_classes,
	.GetClassSignature = class_signature,
	.IsModifiableClass = is_modifiable,
	.SetEventNotificationMode = set_mode,
	.RetransformClasses = retransform_classes,
};

static jint JNICALL push_frame(JNIEnv *jni, jint nr)
{
	return 0;
}

static jobject JNICALL pop_frame(JNIEnv *jni, jobject result)
{
	return NULL;
}

static jint JNICALL get_env(JavaVM *vm, void **out, jint version)
{
	static const struct JNINativeInterface_ jni_functions = {
		.PushLocalFrame = push_frame,
		.PopLocalFrame = pop_frame,
	};
	static JNIEnv jni = &jni_functions;

	*out = &jni;
	return JNI_OK;
}

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

/* A JVM with CLASSES classes of that name, none of them changed. */
static void make_world(const char *name)
{
	static jvmtiEnv env = &functions;

	memset(&methods, 0, sizeof(methods));
	methods.env = &env;
	methods.has_class = 1;
	world = (struct world){ .name = name };
}

/* The classes change for sessions that want these methods. */
static jvmtiError apply(const char *list)
{
	static const struct JNIInvokeInterface_ vm_functions = { .GetEnv = get_env };
	JavaVM vm = &vm_functions;

	want_list(list);
	return methods_apply(&vm);
}

static jvmtiError state_of(const char *method)
{
	return methods_state(method, strlen(method));
}

static int nr_changed(void)
{
	int nr = 0;

	for (int i = 0; i < CLASSES; i++)
		nr += world.objects[i];
	return nr;
}

static void all_classes_of_a_name_change_and_change_back(void **state)
{
	make_world("La/B;");
	assert_int_equal(apply("a/B.run"), JVMTI_ERROR_NONE);
	assert_int_equal(nr_changed(), CLASSES);
	assert_int_equal(apply(""), JVMTI_ERROR_NONE);
	assert_int_equal(nr_changed(), 0);
	assert_false(methods_are_changed());
}

static void a_loop_in_one_class_keeps_all_of_its_name(void **state)
{
	make_world("La/B;");
	world.busy = &world.objects[CLASSES - 1];
	assert_int_equal(apply("a/B.run"), JVMTI_ERROR_NONE);
	assert_int_equal(state_of("a/B.run"), WIRE_ERROR_RUNNING);
	assert_int_equal(nr_changed(), 0);
	world.busy = NULL;
	assert_int_equal(apply("a/B.run"), JVMTI_ERROR_NONE);
	world.busy = &world.objects[CLASSES - 1];
	assert_int_equal(apply(""), JVMTI_ERROR_NONE);
	assert_int_equal(nr_changed(), CLASSES);
	assert_true(methods_are_changed());
}

static void a_class_that_cannot_change_prevents_its_batch_only(void **state)
{
	make_world("La/B;");
	world.rigid = &world.objects[0];
	assert_int_equal(apply("a/B.run"), JVMTI_ERROR_FAILS_VERIFICATION);
	assert_int_equal(nr_changed(), CLASSES - RUNNING_CLASSES);
	assert_true(methods_are_changed());
	assert_int_equal(apply(""), JVMTI_ERROR_FAILS_VERIFICATION);
	assert_int_equal(nr_changed(), 0);
}

/* They are tried again, though no method is wanted that was not wanted before. */
static void classes_that_could_not_change_are_tried_again(void **state)
{
	make_world("La/B;");
	world.rigid = &world.objects[CLASSES - 1];
	apply("a/B.run");
	world.rigid = NULL;
	assert_int_equal(apply("a/B.run"), JVMTI_ERROR_NONE);
	assert_int_equal(nr_changed(), CLASSES);
	world.rigid = &world.objects[0];
	apply("");
	assert_int_equal(nr_changed(), RUNNING_CLASSES);
	assert_true(methods_are_changed());
	world.rigid = NULL;
	assert_int_equal(apply(""), JVMTI_ERROR_NONE);
	assert_int_equal(nr_changed(), 0);
	assert_false(methods_are_changed());
}

/* Another recording waits for a class that is not loaded. */
static void classes_that_are_as_wanted_do_not_change_again(void **state)
{
	make_world("La/B;");
	apply("a/B.run,a/Missing.go");
	assert_int_equal(world.nr_retransformed, CLASSES);
	apply("a/B.run,a/Missing.go");
	assert_int_equal(world.nr_retransformed, CLASSES);
	apply("a/B.run,a/B.go,a/Missing.go");
	assert_int_equal(world.nr_retransformed, 2 * CLASSES);
	apply("a/B.go,a/Missing.go");
	assert_int_equal(world.nr_retransformed, 3 * CLASSES);
	apply("a/Missing.go");
	assert_int_equal(world.nr_retransformed, 4 * CLASSES);
	assert_int_equal(nr_changed(), 0);
}

static void each_method_has_a_state_of_its_own(void **state)
{
	make_world("La/B;");
	apply("a/B.run:5,a/Missing.go");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(state_of("a/B.run:5"), JVMTI_ERROR_NONE);
		assert_int_equal(state_of("a/Missing.go"), JVMTI_ERROR_INVALID_CLASS);
		assert_int_equal(state_of("a/B.run"), JVMTI_ERROR_OUT_OF_MEMORY);
		apply("a/B.run:5,a/Missing.go");
	}
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
		cmocka_unit_test(all_classes_of_a_name_change_and_change_back),
		cmocka_unit_test(a_loop_in_one_class_keeps_all_of_its_name),
		cmocka_unit_test(a_class_that_cannot_change_prevents_its_batch_only),
		cmocka_unit_test(classes_that_could_not_change_are_tried_again),
		cmocka_unit_test(classes_that_are_as_wanted_do_not_change_again),
		cmocka_unit_test(each_method_has_a_state_of_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
