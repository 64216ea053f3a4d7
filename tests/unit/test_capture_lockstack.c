/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "capture/stacks/lockstack.h"

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

/* Leaf first. A name without a dot is a function of libjvm, not a Java method. */
static enum lockstack named(struct stack *s, const char *const *names)
{
	s->frames.nr = 0;
	for (; *names; names++)
		vec_push(&s->frames,
			 frames_intern(s->all, strchr(*names, '.') ? FRAME_C2 : FRAME_JVM, *names,
				       ""));
	return lockstack_name(s->symbolizer, s->all, &s->frames, NULL);
}

#define NAMED(s, ...) named(s, (const char *const[]){ __VA_ARGS__, NULL })
#define PARK                                                                                     \
	"schedule", "futex_wait", "__futex_abstimed_wait_common", "Parker::park", "Unsafe_Park", \
		"jdk.internal.misc.Unsafe.park",                                                 \
		"java.util.concurrent.locks.LockSupport.parkNanos",                              \
		"java.util.concurrent.locks.LockSupport.park"
#define LOCK AQS ".acquire", "java.util.concurrent.locks.ReentrantLock$Sync.lock"

static const char *frame(const struct stack *s, size_t i)
{
	return i < s->frames.nr ? frames_get(s->all, s->frames.at[i])->name : "";
}

static void the_class_of_a_lock_replaces_the_waiting_frames(void **state)
{
	struct stack *s = *state;

	assert_int_equal(LOCKSTACK_LOCK,
			 NAMED(s, PARK, AQS ".acquire", AQS ".acquire",
			       "java.util.concurrent.locks.ReentrantLock$Sync.lock",
			       "java.util.concurrent.locks.ReentrantLock.lock", "a.B.run"));
	assert_int_equal(s->frames.nr, 4);
	assert_string_equal(frame(s, 0), "java.util.concurrent.locks.ReentrantLock");
	assert_int_equal(frames_get(s->all, s->frames.at[0])->kind, FRAME_CLASS);
	assert_true(symbolizer_is_named(s->symbolizer, s->frames.at[0]));
	assert_string_equal(frame(s, 1), "java.util.concurrent.locks.ReentrantLock$Sync.lock");
	assert_string_equal(frame(s, 3), "a.B.run");

	assert_int_equal(LOCKSTACK_LOCK, NAMED(s, PARK, AQS ".parkAndCheckInterrupt",
					       AQS ".doAcquireShared", "a.Own$S.x"));
	assert_string_equal(frame(s, 0), "a.Own");
	assert_int_equal(
		LOCKSTACK_LOCK,
		NAMED(s, PARK, "java.util.concurrent.locks.StampedLock.acquireWrite", "a.B.run"));
	assert_string_equal(frame(s, 0), "java.util.concurrent.locks.StampedLock");
}

static void a_wait_for_work_or_a_condition_is_not_a_lock(void **state)
{
	struct stack *s = *state;

	assert_int_equal(LOCKSTACK_NONE,
			 NAMED(s, PARK, AQS "$ConditionObject.await",
			       "java.util.concurrent.LinkedBlockingQueue.take", "a.B.run"));
	/* JDK 17 and newer */
	assert_int_equal(LOCKSTACK_NONE, NAMED(s, PARK, AQS "$ConditionNode.block",
					       "java.util.concurrent.ForkJoinPool.unmanagedBlock",
					       "java.util.concurrent.ForkJoinPool.managedBlock",
					       AQS "$ConditionObject.await",
					       "java.util.concurrent.LinkedBlockingQueue.take"));
	assert_int_equal(LOCKSTACK_NONE,
			 NAMED(s, PARK, "java.util.concurrent.ForkJoinPool.awaitWork", "a.B.run"));
	assert_int_equal(LOCKSTACK_NONE,
			 NAMED(s, PARK, AQS ".acquire", "java.util.concurrent.CountDownLatch.await",
			       "a.B.run"));
	assert_int_equal(LOCKSTACK_NONE, NAMED(s, PARK, "a.B.run"));
	assert_int_equal(LOCKSTACK_NONE, NAMED(s, PARK));
	assert_int_equal(LOCKSTACK_NONE, NAMED(s, "jdk.internal.misc.Unsafe.park"));
}

/* After the wake-up a thread must take the condition's lock again. */
static void a_notified_thread_waits_for_the_lock_of_its_condition(void **state)
{
	struct stack *s = *state;

	assert_int_equal(LOCKSTACK_LOCK,
			 NAMED(s, PARK, AQS ".acquireQueued", AQS "$ConditionObject.await",
			       "java.util.concurrent.LinkedBlockingQueue.take"));
	assert_string_equal(frame(s, 0), AQS);
	assert_string_equal(frame(s, 1), "java.util.concurrent.LinkedBlockingQueue.take");
}

static void a_lock_without_callers_is_its_class(void **state)
{
	struct stack *s = *state;

	assert_int_equal(LOCKSTACK_LOCK, NAMED(s, PARK, AQS ".acquire"));
	assert_int_equal(s->frames.nr, 1);
	assert_string_equal(frame(s, 0), AQS);
}

static void a_pinned_carrier_parks_like_a_thread(void **state)
{
	struct stack *s = *state;

	assert_int_equal(
		LOCKSTACK_LOCK,
		NAMED(s, "futex_wait", "Unsafe_Park", "jdk.internal.misc.Unsafe.park",
		      "java.lang.VirtualThread.parkOnCarrierThread", "java.lang.VirtualThread.park",
		      "java.lang.System$2.parkVirtualThread", "java.lang.VirtualThreads.park",
		      "java.util.concurrent.locks.LockSupport.park", LOCK, "a.B.run"));
	assert_string_equal(frame(s, 0), "java.util.concurrent.locks.ReentrantLock");
	assert_string_equal(frame(s, 2), "a.B.run");
}

#define ENTERED "a.Garage.parkCar", LOCK

static void a_monitor_is_recognised_by_the_function_that_enters_it(void **state)
{
	struct stack *s = *state;

	assert_int_equal(LOCKSTACK_MONITOR,
			 NAMED(s, "futex_wait", "ObjectMonitor::EnterI(JavaThread*)",
			       "ObjectMonitor::enter(JavaThread*)", "monitorenter stub", ENTERED));
	assert_int_equal(s->frames.nr, 4);
	assert_string_equal(frame(s, 0), "[monitor]");
	assert_string_equal(frame(s, 1), "a.Garage.parkCar");
	assert_int_equal(LOCKSTACK_MONITOR,
			 NAMED(s, "ObjectMonitor::enter_internal(JavaThread*, ObjectWaiter*, bool)",
			       "ObjectMonitor::enter_with_contention_mark(JavaThread*)", ENTERED));
}

static void a_wait_for_a_notification_is_not_a_wait_for_a_monitor(void **state)
{
	struct stack *s = *state;

	assert_int_equal(LOCKSTACK_NONE,
			 NAMED(s, "futex_wait", "ObjectMonitor::wait(long, bool, JavaThread*)",
			       "java.lang.Object.wait0", "a.B.run"));
	assert_int_equal(LOCKSTACK_NONE,
			 NAMED(s, "ObjectMonitor::enter_internal(JavaThread*, ObjectWaiter*, bool)",
			       "ObjectMonitor::wait(long, bool, JavaThread*)",
			       "java.lang.Object.wait0"));
	assert_int_equal(LOCKSTACK_NONE,
			 NAMED(s, "ObjectMonitor::ReenterI(JavaThread*, ObjectWaiter*)",
			       "ObjectMonitor::wait(long, bool, JavaThread*)",
			       "java.lang.Object.wait"));
}

/* A garbage collection stops threads anywhere, also within a lock's code. */
static void other_waits_of_the_jvm_are_not_locks(void **state)
{
	struct stack *s = *state;

	assert_int_equal(LOCKSTACK_NONE,
			 NAMED(s, "futex_wait", "SafepointSynchronize::block(JavaThread*)", LOCK));
	assert_int_equal(LOCKSTACK_NONE, NAMED(s, "futex_wait", "GCTaskThread::run()"));
	assert_int_equal(LOCKSTACK_NONE, NAMED(s, "futex_wait", "a.B.run"));
	s->frames.nr = 0;
	assert_int_equal(LOCKSTACK_NONE, lockstack_name(s->symbolizer, s->all, &s->frames, NULL));
}

static void a_known_class_is_that_of_the_outermost_one(void **state)
{
	struct stack *s = *state;

	const char *const names[] = { "jdk.internal.vm.Continuation.yield",
				      "java.lang.VirtualThread.park",
				      "java.util.concurrent.locks.LockSupport.park", AQS ".acquire",
				      "App.main" };

	s->frames.nr = 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		vec_push(&s->frames, frames_intern(s->all, FRAME_C2, names[i], ""));
	assert_int_equal(LOCKSTACK_LOCK,
			 lockstack_name(s->symbolizer, s->all, &s->frames, "acme.Mutex$Sync"));
	assert_string_equal(frame(s, 0), "acme.Mutex");
	assert_string_equal(frame(s, 1), "App.main");
}

static void a_known_monitor_has_its_own_class(void **state)
{
	struct stack *s = *state;

	NAMED(s, "App.main");
	assert_true(lockstack_name_monitor(s->symbolizer, s->all, &s->frames, "App$Guard"));
	assert_string_equal(frame(s, 0), "App$Guard");
	assert_string_equal(frame(s, 1), "App.main");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_class_of_a_lock_replaces_the_waiting_frames,
						make, drop),
		cmocka_unit_test_setup_teardown(a_wait_for_work_or_a_condition_is_not_a_lock, make,
						drop),
		cmocka_unit_test_setup_teardown(
			a_notified_thread_waits_for_the_lock_of_its_condition, make, drop),
		cmocka_unit_test_setup_teardown(a_lock_without_callers_is_its_class, make, drop),
		cmocka_unit_test_setup_teardown(a_pinned_carrier_parks_like_a_thread, make, drop),
		cmocka_unit_test_setup_teardown(
			a_monitor_is_recognised_by_the_function_that_enters_it, make, drop),
		cmocka_unit_test_setup_teardown(
			a_wait_for_a_notification_is_not_a_wait_for_a_monitor, make, drop),
		cmocka_unit_test_setup_teardown(other_waits_of_the_jvm_are_not_locks, make, drop),
		cmocka_unit_test_setup_teardown(a_known_class_is_that_of_the_outermost_one, make,
						drop),
		cmocka_unit_test_setup_teardown(a_known_monitor_has_its_own_class, make, drop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
