/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>

#include "capture/lockstack.h"

#define AQS "java.util.concurrent.locks.AbstractQueuedSynchronizer"

struct stack {
	struct frames *all;
	struct symbolizer *symbolizer;
	frame_list frames;
};

static int make(void **state)
{
	struct stack *s = calloc(1, sizeof(*s));

	s->all = frames_new();
	s->symbolizer = symbolizer_new(s->all, NULL, NULL);
	*state = s;
	return 0;
}

static int drop(void **state)
{
	struct stack *s = *state;

	symbolizer_free(s->symbolizer);
	frames_free(s->all);
	vec_fini(&s->frames);
	free(s);
	return 0;
}

/* Leaf first; what is a class is in brackets. */
static bool named(struct stack *s, const char *const *names)
{
	s->frames.nr = 0;
	for (; *names; names++)
		vec_push(&s->frames, frames_intern(s->all, **names == '[' ? FRAME_CLASS : FRAME_C2,
						   *names, ""));
	return lockstack_name(s->symbolizer, s->all, &s->frames);
}

#define NAMED(s, ...) named(s, (const char *const[]){ __VA_ARGS__, NULL })
#define PARK                                                        \
	SYMBOLIZE_PARKED, "jdk.internal.misc.Unsafe.park",          \
		"java.util.concurrent.locks.LockSupport.parkNanos", \
		"java.util.concurrent.locks.LockSupport.park"

static const char *frame(const struct stack *s, size_t i)
{
	return i < s->frames.nr ? frames_get(s->all, s->frames.at[i])->name : "";
}

static void a_lock_is_its_class_without_how_it_waits(void **state)
{
	struct stack *s = *state;

	assert_true(NAMED(s, PARK, AQS ".acquire", AQS ".acquire",
			  "java.util.concurrent.locks.ReentrantLock$Sync.lock",
			  "java.util.concurrent.locks.ReentrantLock.lock", "a.B.run"));
	assert_int_equal(s->frames.nr, 4);
	assert_string_equal(frame(s, 0), "java.util.concurrent.locks.ReentrantLock");
	assert_int_equal(frames_get(s->all, s->frames.at[0])->kind, FRAME_CLASS);
	assert_true(symbolizer_is_named(s->symbolizer, s->frames.at[0]));
	assert_string_equal(frame(s, 1), "java.util.concurrent.locks.ReentrantLock$Sync.lock");
	assert_string_equal(frame(s, 3), "a.B.run");

	assert_true(
		NAMED(s, PARK, AQS ".parkAndCheckInterrupt", AQS ".doAcquireShared", "a.Own$S.x"));
	assert_string_equal(frame(s, 0), "a.Own");
	assert_true(
		NAMED(s, PARK, "java.util.concurrent.locks.StampedLock.acquireWrite", "a.B.run"));
	assert_string_equal(frame(s, 0), "java.util.concurrent.locks.StampedLock");
}

static void what_is_waited_for_otherwise_is_no_lock(void **state)
{
	struct stack *s = *state;

	assert_false(NAMED(s, PARK, AQS "$ConditionObject.await",
			   "java.util.concurrent.LinkedBlockingQueue.take", "a.B.run"));
	assert_false(NAMED(s, PARK, "java.util.concurrent.ForkJoinPool.awaitWork", "a.B.run"));
	assert_false(NAMED(s, PARK, AQS ".acquire", "java.util.concurrent.CountDownLatch.await",
			   "a.B.run"));
	assert_false(NAMED(s, PARK, "a.B.run"));
	assert_false(NAMED(s, PARK));
	assert_false(NAMED(s, SYMBOLIZE_PARKED));
}

/* To be woken is not enough: the condition's lock must be had again. */
static void a_condition_waits_for_its_lock_again(void **state)
{
	struct stack *s = *state;

	assert_true(NAMED(s, PARK, AQS ".acquireQueued", AQS "$ConditionObject.await",
			  "java.util.concurrent.LinkedBlockingQueue.take"));
	assert_string_equal(frame(s, 0), AQS);
	assert_string_equal(frame(s, 1), "java.util.concurrent.LinkedBlockingQueue.take");
}

static void a_lock_at_the_very_root_is_its_class(void **state)
{
	struct stack *s = *state;

	assert_true(NAMED(s, PARK, AQS ".acquire"));
	assert_int_equal(s->frames.nr, 1);
	assert_string_equal(frame(s, 0), AQS);
}

static void other_stacks_are_left_as_they_are(void **state)
{
	struct stack *s = *state;

	assert_true(NAMED(s, "[byte", "a.B.run"));
	assert_int_equal(s->frames.nr, 2);
	s->frames.nr = 0;
	assert_true(lockstack_name(s->symbolizer, s->all, &s->frames));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_lock_is_its_class_without_how_it_waits, make,
						drop),
		cmocka_unit_test_setup_teardown(what_is_waited_for_otherwise_is_no_lock, make,
						drop),
		cmocka_unit_test_setup_teardown(a_condition_waits_for_its_lock_again, make, drop),
		cmocka_unit_test_setup_teardown(a_lock_at_the_very_root_is_its_class, make, drop),
		cmocka_unit_test_setup_teardown(other_stacks_are_left_as_they_are, make, drop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
