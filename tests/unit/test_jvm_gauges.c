/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a live JVM knows about itself, against its own answers. JDK=N: one of tests/jvm/jdks instead
 * of the host's; JVM_FLAGS: additional flags for it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "java.h"
#include "jvm/hotspot/gauges.h"
#include "test.h"
#include "top/alloc_meter.h"

#define ARRAYS 100003
#define PERMIL 20 /* other threads of the JVM allocate a little */

struct world {
	pid_t child, pid;
	FILE *in, *out;
	struct hotspot *h;
	struct gauge_places places;
	struct gauges gauges;
};

static struct world world;

static long long order(const char *text)
{
	char line[256] = "";
	long long value;

	fprintf(world.in, "%s\n", text);
	fflush(world.in);
	while (sscanf(line, "done %lld", &value) != 1)
		assert_non_null(fgets(line, sizeof(line), world.out));
	return value;
}

static int start_jvm(void **state)
{
	const char *flags = getenv("JVM_FLAGS");
	char args[512], line[256] = "";

	snprintf(args, sizeof(args), "%s Watched", flags ? flags : "");
	world.child = java_converse(args, &world.in, &world.out);
	if (world.child < 0)
		return -1;
	while (strcmp(line, "ready\n") != 0)
		if (!fgets(line, sizeof(line), world.out))
			return -1;
	world.pid = java_pid(world.child);
	return hotspot_open((struct process_id){ world.pid, 0 }, &world.h);
}

static int stop_jvm(void **state)
{
	hotspot_free(world.h);
	gauge_places_fini(&world.places);
	gauges_fini(&world.gauges);
	java_end(world.child);
	fclose(world.in);
	fclose(world.out);
	world = (struct world){ 0 };
	return 0;
}

static void read_now(void)
{
	assert_int_equal(gauges_read(world.h, &world.places, &world.gauges), 0);
	assert_true(world.gauges.knows_allocations);
	assert_true(world.gauges.knows_states);
}

static void assert_near(u64 seen, long long truth)
{
	long long off = (long long)seen - truth;

	if (off < 0 || off > truth * PERMIL / 1000)
		fail_msg("%llu bytes were seen, %lld were allocated", (unsigned long long)seen,
			 truth);
}

static void the_bytes_are_those_of_the_jvm(void **state)
{
	struct alloc_meter m = { 0 };
	char text[32];

	snprintf(text, sizeof(text), "allocate %d", ARRAYS);
	order(text); /* classes that the first order loads */
	read_now();
	alloc_meter_add(&m, &world.gauges);
	assert_int_equal(m.total, 0);
	long long truth = order(text);
	read_now();
	alloc_meter_add(&m, &world.gauges);
	assert_true(truth > 10007ll * ARRAYS);
	assert_near(m.total, truth);
	assert_int_equal(m.nr_partial, 0);
	alloc_meter_fini(&m);
}

static void threads_that_end_keep_their_bytes(void **state)
{
	struct alloc_meter m = { 0 };

	order("start 7");
	order("end");
	read_now();
	alloc_meter_add(&m, &world.gauges);
	long long truth = order("start 53");
	read_now();
	alloc_meter_add(&m, &world.gauges);
	u64 before = m.total;
	assert_near(before, truth);
	order("end");
	order("park 1");
	while (m.nr_partial < 53) {
		usleep(10000);
		read_now();
		u64 last = m.total;
		alloc_meter_add(&m, &world.gauges);
		assert_true(m.total >= last);
	}
	assert_true(m.total >= before);
	assert_near(m.total, truth);
	alloc_meter_fini(&m);
}

static u32 nr_in(enum java_thread_state state)
{
	u32 nr = 0;

	vec_each(t, &world.gauges.threads)
		nr += t->state == state;
	return nr;
}

static void blocked_and_parked_threads_are_told_apart(void **state)
{
	read_now();
	u32 blocked = nr_in(JAVA_THREAD_BLOCKED), waiting = nr_in(JAVA_THREAD_WAITS);

	assert_int_equal(order("block 11"), 11);
	assert_int_equal(order("park 17"), 17);
	/* A thread says WAITING a moment before it is. */
	for (u32 i = 0; i < 3000; i++) {
		read_now();
		if (nr_in(JAVA_THREAD_BLOCKED) == blocked + 11 &&
		    nr_in(JAVA_THREAD_WAITS) >= waiting + 17)
			break;
		usleep(10000);
	}
	assert_int_equal(nr_in(JAVA_THREAD_BLOCKED), blocked + 11);
	assert_true(nr_in(JAVA_THREAD_WAITS) >= waiting + 17);
}

static void heap_and_collections_are_those_of_the_jvm(void **state)
{
	long long truth = order("collect 13");

	read_now();
	assert_true(world.gauges.threads_started != GAUGE_UNKNOWN);
	assert_true(world.gauges.heap_used > 100000);
	assert_true(world.gauges.heap_used <= world.gauges.heap_committed);
	assert_true(world.gauges.heap_committed != GAUGE_UNKNOWN);
	/* Concurrent cycles count in the JVM's beans, not among the pauses, and the other way
	 * round. */
	assert_true(world.gauges.collections >= 13);
	assert_true(truth >= 13);
}

int main(void)
{
	/* Threads that are ending would change the numbers of states: they come last. */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocked_and_parked_threads_are_told_apart),
		cmocka_unit_test(the_bytes_are_those_of_the_jvm),
		cmocka_unit_test(threads_that_end_keep_their_bytes),
		cmocka_unit_test(heap_and_collections_are_those_of_the_jvm),
	};

	skip_all_if(java_lacking());

	return cmocka_run_group_tests(tests, start_jvm, stop_jvm);
}
