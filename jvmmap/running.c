/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds loops that are running in methods of given classes. JVMTI does not report how long a frame
 * has existed. A frame of a method with a loop that stays at the same height of a stack therefore
 * counts as one frame.
 */
#include "jvmmap/running.h"

#include "jvmmap/bytecode.h"
#include "jvmmap/sys.h"

#define DEPTH      256 /* frames from the top of each stack; the JVM allocates as many per thread */
#define LOOKS      10
#define LOOK_MS    50
#define LOOPS      1024
#define CANDIDATES 256

/* A method with a loop. */
struct loop {
	jmethodID method;
	int class;
};

/* A frame that every sample of its thread's stack contained so far. */
struct candidate {
	jthread thread;
	int stack; /* the thread's stack in the last sample */
	jmethodID method;
	jlocation location; /* at the last look */
	jint height;        /* frames from the stack's bottom */
	int class;
	int has_moved; /* the loop itself was on top, not only a call that it makes */
};

/* Only one thread at a time changes classes. */
struct search {
	jvmtiEnv *env;
	struct loop loops[LOOPS];
	struct candidate candidates[CANDIDATES];
	jthread threads[CANDIDATES];
	int nr_loops, nr_candidates;
};

static struct search search;

static int has_loop(jvmtiEnv *env, jmethodID method)
{
	unsigned char *code = NULL;
	jint len = 0;

	/* Native and abstract methods have no bytecode. */
	if ((*env)->GetBytecodes(env, method, &len, &code) || len < 0)
		return 0;
	int found = bytecode_has_loop(code, (size_t)len);
	(*env)->Deallocate(env, code);
	return found;
}

static void mark_busy(struct running *out, int class, jmethodID method)
{
	out->is_busy[class] = 1;
	out->method = method;
}

/* A class with too many loops counts as busy. */
static void collect_loops(jclass class, int number, struct running *out)
{
	jvmtiEnv *env = search.env;
	jmethodID *methods = NULL;
	jint nr = 0;

	if ((*env)->GetClassMethods(env, class, &nr, &methods))
		return;
	for (jint i = 0; i < nr && !out->is_busy[number]; i++) {
		if (!has_loop(env, methods[i]))
			continue;
		if (search.nr_loops < LOOPS)
			search.loops[search.nr_loops++] = (struct loop){ methods[i], number };
		else
			mark_busy(out, number, methods[i]);
	}
	(*env)->Deallocate(env, (unsigned char *)methods);
}

static const struct loop *loop_of(jmethodID method)
{
	for (int i = 0; i < search.nr_loops; i++)
		if (search.loops[i].method == method)
			return &search.loops[i];
	return NULL;
}

/*
 * Only the upper part of the stack was reported: its bottom, from which heights count, is unknown.
 */
static int is_cut(const jvmtiStackInfo *stack)
{
	return stack->frame_count >= DEPTH;
}

/* A loop that cannot be watched counts as busy. */
static void first_look_at(const jvmtiStackInfo *stack, struct running *out)
{
	for (jint i = 0; i < stack->frame_count; i++) {
		const jvmtiFrameInfo *frame = &stack->frame_buffer[i];
		const struct loop *loop = loop_of(frame->method);
		if (!loop)
			continue;
		if (is_cut(stack) || search.nr_candidates == CANDIDATES) {
			mark_busy(out, loop->class, loop->method);
			continue;
		}
		search.candidates[search.nr_candidates++] = (struct candidate){
			.thread = stack->thread,
			.method = frame->method,
			.location = frame->location,
			.height = stack->frame_count - i,
			.class = loop->class,
			.has_moved = i == 0,
		};
	}
}

/*
 * Returns whether the frame is still there. If the stack was cut before the frame, it counts as
 * still there.
 */
static int is_still_there(struct candidate *c, const jvmtiStackInfo *stack)
{
	jint i = stack->frame_count - c->height;

	if (is_cut(stack)) {
		c->has_moved = 1;
		return 1;
	}
	if (i < 0 || stack->frame_buffer[i].method != c->method)
		return 0;
	c->has_moved |= i == 0 || stack->frame_buffer[i].location != c->location;
	c->location = stack->frame_buffer[i].location;
	return 1;
}

/* Collects each thread once. The candidates of a thread follow each other. */
static int collect_threads(void)
{
	int nr = 0;

	for (int i = 0; i < search.nr_candidates; i++) {
		struct candidate *c = &search.candidates[i];
		if (!nr || search.threads[nr - 1] != c->thread)
			search.threads[nr++] = c->thread;
		c->stack = nr - 1;
	}
	return nr;
}

/*
 * The JVM may stop all threads meanwhile, but walks only the listed ones. A single thread is listed
 * twice: for a list of one thread that has ended, HotSpot returns an error instead of no frames.
 */
static jvmtiError look_again(void)
{
	jvmtiEnv *env = search.env;
	jvmtiStackInfo *stacks = NULL;
	int nr_threads = collect_threads(), nr = 0;
	int is_single = nr_threads == 1;

	if (is_single)
		search.threads[nr_threads++] = search.threads[0];
	jvmtiError err =
		(*env)->GetThreadListStackTraces(env, nr_threads, search.threads, DEPTH, &stacks);
	/* Frames of other threads may still be there. */
	if (err == JVMTI_ERROR_THREAD_NOT_ALIVE) {
		search.nr_candidates = is_single ? 0 : search.nr_candidates;
		return JVMTI_ERROR_NONE;
	}
	if (err)
		return err;
	for (int i = 0; i < search.nr_candidates; i++) {
		struct candidate *c = &search.candidates[i];
		if (is_still_there(c, &stacks[c->stack]))
			search.candidates[nr++] = *c;
	}
	search.nr_candidates = nr;
	(*env)->Deallocate(env, (unsigned char *)stacks);
	return JVMTI_ERROR_NONE;
}

static jvmtiError look(struct running *out)
{
	jvmtiEnv *env = search.env;
	jvmtiStackInfo *stacks = NULL;
	jint nr = 0;

	jvmtiError err = (*env)->GetAllStackTraces(env, DEPTH, &stacks, &nr);
	if (err)
		return err;
	for (jint i = 0; i < nr; i++)
		first_look_at(&stacks[i], out);
	(*env)->Deallocate(env, (unsigned char *)stacks);
	for (int i = 1; i < LOOKS && search.nr_candidates && !err; i++) {
		sys_sleep_ms(LOOK_MS);
		err = look_again();
	}
	return err;
}

jvmtiError running_find(jvmtiEnv *env, const jclass *classes, int nr, struct running *out)
{
	memset(out, 0, sizeof(*out));
	search.env = env;
	search.nr_loops = search.nr_candidates = 0;
	for (int i = 0; i < nr && i < RUNNING_CLASSES; i++)
		collect_loops(classes[i], i, out);
	jvmtiError err = search.nr_loops ? look(out) : JVMTI_ERROR_NONE;
	for (int i = 0; i < search.nr_candidates && !err; i++) {
		const struct candidate *c = &search.candidates[i];
		if (c->has_moved)
			mark_busy(out, c->class, c->method);
	}
	return err;
}
