/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which loops the agent finds running. The test stands in for a JVM whose stacks change from sample
 * to sample.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "jvmmap/bytecode.c"
#include "jvmmap/running.c"

#define THREADS 3
#define DEEPEST 600

/* `frames[0]` is the bottom. */
struct stack {
	jvmtiFrameInfo frames[DEEPEST];
	int depth; /* 0 if the thread has ended */
};

struct world {
	struct stack stacks[THREADS];
	int nr_threads, nr_looks;
	int most_listed, least_listed; /* threads in one call */
	void (*change)(void);          /* called before each look but the first */
};

static struct world world;
static char objects[THREADS], loop_code, idle_code;
#define LOOP ((jmethodID)(void *)&loop_code)
#define IDLE ((jmethodID)(void *)&idle_code)

void sys_sleep_ms(int ms)
{
	world.nr_looks++;
	if (world.change)
		world.change();
}

static jthread thread_of(int i)
{
	return (jthread)(void *)&objects[i];
}

static jvmtiError JNICALL deallocate(jvmtiEnv *env, unsigned char *at)
{
	free(at);
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL get_methods(jvmtiEnv *env, jclass class, jint *nr, jmethodID **out)
{
	*out = malloc(2 * sizeof(**out));
	(*out)[0] = LOOP;
	(*out)[1] = IDLE;
	*nr = 2;
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL get_bytecodes(jvmtiEnv *env, jmethodID method, jint *len,
					unsigned char **out)
{
	static const unsigned char jump_back[] = { 0x1b, 0xa7, 0xff, 0xff };

	*out = malloc(sizeof(jump_back));
	memcpy(*out, jump_back, sizeof(jump_back));
	*len = method == LOOP ? sizeof(jump_back) : 1;
	return JVMTI_ERROR_NONE;
}

/* As HotSpot: one block, the upper `max` frames of each stack. */
static jvmtiStackInfo *report(const jthread *threads, int nr, int max)
{
	size_t infos = (size_t)nr * sizeof(jvmtiStackInfo);
	jvmtiStackInfo *out = calloc(1, infos + (size_t)(nr * max) * sizeof(jvmtiFrameInfo));
	jvmtiFrameInfo *frame = (jvmtiFrameInfo *)(void *)((char *)out + infos);

	for (int i = 0; i < nr; i++) {
		const struct stack *s = &world.stacks[(char *)(void *)threads[i] - objects];
		out[i].thread = threads[i];
		out[i].frame_buffer = frame;
		out[i].frame_count = s->depth < max ? s->depth : max;
		for (int k = 0; k < out[i].frame_count; k++)
			*frame++ = s->frames[s->depth - 1 - k];
	}
	return out;
}

static jvmtiError JNICALL get_all_stacks(jvmtiEnv *env, jint max, jvmtiStackInfo **out, jint *nr)
{
	jthread threads[THREADS];

	for (int i = 0; i < world.nr_threads; i++)
		threads[i] = thread_of(i);
	*out = report(threads, world.nr_threads, max);
	*nr = world.nr_threads;
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL get_stacks(jvmtiEnv *env, jint nr, const jthread *threads, jint max,
				     jvmtiStackInfo **out)
{
	if (nr > world.most_listed)
		world.most_listed = nr;
	if (!world.least_listed || nr < world.least_listed)
		world.least_listed = nr;
	if (nr == 1 && !world.stacks[(char *)(void *)threads[0] - objects].depth)
		return JVMTI_ERROR_THREAD_NOT_ALIVE;
	*out = report(threads, nr, max);
	return JVMTI_ERROR_NONE;
}

static const struct jvmtiInterface_1_ functions = {
	.Deallocate = deallocate,
	.GetClassMethods = get_methods,
	.GetBytecodes = get_bytecodes,
	.GetAllStackTraces = get_all_stacks,
	.GetThreadListStackTraces = get_stacks,
};

static void push(int thread, jmethodID method, int nr)
{
	struct stack *s = &world.stacks[thread];

	while (nr--)
		s->frames[s->depth++] = (jvmtiFrameInfo){ method, 0 };
}

/* One thread, with two idle frames at the bottom. */
static void make_world(void)
{
	memset(&world, 0, sizeof(world));
	world.nr_threads = 1;
	push(0, IDLE, 2);
}

static int is_busy(void)
{
	jvmtiEnv env = &functions;
	struct running running;
	char class;
	const jclass classes[] = { (jclass)(void *)&class };

	assert_int_equal(running_find(&env, classes, 1, &running), JVMTI_ERROR_NONE);
	assert_true(running.is_busy[0] ? running.method == LOOP : !running.method);
	return running.is_busy[0];
}

static void end_thread(void)
{
	world.stacks[0].depth = 0;
}

static void a_loop_on_top_is_busy(void **state)
{
	make_world();
	push(0, LOOP, 1);
	assert_true(is_busy());
	assert_int_equal(world.nr_looks, LOOKS - 1);
}

static void a_loop_that_stays_in_a_call_is_idle(void **state)
{
	make_world();
	push(0, LOOP, 1);
	push(0, IDLE, 1);
	assert_false(is_busy());
}

static void a_thread_that_ends_is_idle(void **state)
{
	make_world();
	push(0, LOOP, 1);
	world.change = end_thread;
	assert_false(is_busy());
	assert_int_equal(world.nr_looks, 1);
	assert_int_equal(world.least_listed, 2);
}

static void a_thread_that_ends_does_not_hide_another(void **state)
{
	make_world();
	world.nr_threads = 2;
	push(0, LOOP, 1);
	push(1, LOOP, 1);
	world.change = end_thread;
	assert_true(is_busy());
}

/* Each listed thread is walked, however often it is listed. */
static void a_thread_with_many_loops_is_listed_once(void **state)
{
	make_world();
	world.nr_threads = 2;
	push(0, LOOP, 100);
	push(1, LOOP, 100);
	assert_true(is_busy());
	assert_int_equal(world.most_listed, 2);
}

/* The first thread's loops wait in a call, and take all places. */
static void a_loop_for_which_there_is_no_place_is_busy(void **state)
{
	make_world();
	world.nr_threads = 3;
	for (int i = 0; i < 2; i++) {
		push(i, LOOP, CANDIDATES / 2);
		push(i, IDLE, 1);
	}
	push(2, LOOP, 1);
	assert_true(is_busy());
}

/* A call of the loop has its own calls. */
static void grow_or_shrink(void)
{
	if (world.nr_looks % 2)
		push(0, IDLE, 5);
	else
		world.stacks[0].depth -= 5;
}

static void a_loop_on_a_cut_stack_is_busy(void **state)
{
	make_world();
	push(0, IDLE, DEPTH);
	push(0, LOOP, 1);
	push(0, IDLE, 1);
	world.change = grow_or_shrink;
	assert_true(is_busy());
}

static void a_stack_that_is_cut_later_may_have_the_loop(void **state)
{
	make_world();
	push(0, LOOP, 1);
	push(0, IDLE, DEPTH - 5);
	world.change = grow_or_shrink;
	assert_true(is_busy());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_on_top_is_busy),
		cmocka_unit_test(a_loop_that_stays_in_a_call_is_idle),
		cmocka_unit_test(a_thread_that_ends_is_idle),
		cmocka_unit_test(a_thread_that_ends_does_not_hide_another),
		cmocka_unit_test(a_thread_with_many_loops_is_listed_once),
		cmocka_unit_test(a_loop_for_which_there_is_no_place_is_busy),
		cmocka_unit_test(a_loop_on_a_cut_stack_is_busy),
		cmocka_unit_test(a_stack_that_is_cut_later_may_have_the_loop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
