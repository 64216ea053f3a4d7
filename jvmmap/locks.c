/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for Java monitors. One that took `min_ns` is told of; a shorter one with the probability
 * duration / min_ns, to count as so much more often, so that the rate is bounded.
 */
#include "jvmmap/hook.h"
#include "jvmmap/sys.h"

HOOK(jvmmap_hook_lock);
void jvmmap_hook_lock(uint64_t class, uint64_t waited_ns, uint64_t min_ns);

#define WAITERS     1024 /* a power of two */
#define WAITERS_TRY 8    /* places of one thread */

/* Who waits: a thread is known by its JNIEnv, as the agent has no variables of threads. */
struct waiter {
	JNIEnv *thread; /* NULL: free */
	uint64_t since_ns;
};

struct locks {
	struct hook hook;
	uint64_t min_ns;
	struct waiter waiters[WAITERS];
};

static struct locks locks;

static struct waiter *place_of(const JNIEnv *thread, uint32_t try)
{
	uint64_t hash = (uintptr_t)thread * 0x9e3779b97f4a7c15ull;

	return &locks.waiters[((hash >> 40) + try) & (WAITERS - 1)];
}

/* A wait for which there is no place is not told of; so many threads never wait at once. */
static void JNICALL on_enter(jvmtiEnv *env, JNIEnv *jni, jthread thread, jobject object)
{
	for (uint32_t try = 0; try < WAITERS_TRY; try++) {
		struct waiter *w = place_of(jni, try);
		JNIEnv *expected = NULL;
		if (w->thread == jni ||
		    __atomic_compare_exchange_n(&w->thread, &expected, jni, 0, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED)) {
			w->since_ns = sys_mono_ns();
			return;
		}
	}
}

/* When the wait of this thread began, 0 if that is not known. */
static uint64_t take_wait(JNIEnv *jni)
{
	for (uint32_t try = 0; try < WAITERS_TRY; try++) {
		struct waiter *w = place_of(jni, try);
		if (__atomic_load_n(&w->thread, __ATOMIC_RELAXED) == jni) {
			uint64_t since_ns = w->since_ns;
			__atomic_store_n(&w->thread, NULL, __ATOMIC_RELEASE);
			return since_ns;
		}
	}
	return 0;
}

static int is_chosen(uint64_t waited_ns, uint64_t min_ns, uint64_t seed)
{
	uint64_t hash = seed * 0x9e3779b97f4a7c15ull;

	hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93ull;
	return waited_ns >= min_ns || (hash >> 32) * min_ns >> 32 < waited_ns;
}

static void JNICALL on_entered(jvmtiEnv *env, JNIEnv *jni, jthread thread, jobject object)
{
	uint64_t min_ns = __atomic_load_n(&locks.min_ns, __ATOMIC_RELAXED);
	uint64_t since_ns = take_wait(jni), now_ns = sys_mono_ns();
	uint64_t waited_ns = now_ns > since_ns ? now_ns - since_ns : 1;

	if (!since_ns || !min_ns || !is_chosen(waited_ns, min_ns, now_ns ^ (uintptr_t)jni))
		return;
	jclass class = (*jni)->GetObjectClass(jni, object);
	jvmmap_hook_lock(hook_class(env, class), waited_ns, min_ns);
	(*jni)->DeleteLocalRef(jni, class);
}

/* The shortest that a session wants; 0 if none wants any. */
static uint64_t wanted_min(struct session *const sessions[], int nr)
{
	uint64_t least = 0;

	for (int i = 0; i < nr; i++)
		if (sessions[i] && sessions[i]->lock_min_ns &&
		    (!least || sessions[i]->lock_min_ns < least))
			least = sessions[i]->lock_min_ns;
	return least;
}

jvmtiError locks_settle(JavaVM *vm, struct session *const sessions[], int nr)
{
	static const jvmtiEventCallbacks callbacks = {
		.MonitorContendedEnter = on_enter,
		.MonitorContendedEntered = on_entered,
	};
	static const jvmtiCapabilities wanted = { .can_generate_monitor_events = 1 };
	static const jvmtiEvent events[] = { JVMTI_EVENT_MONITOR_CONTENDED_ENTER,
					     JVMTI_EVENT_MONITOR_CONTENDED_ENTERED, 0 };
	uint64_t min_ns = wanted_min(sessions, nr);

	__atomic_store_n(&locks.min_ns, min_ns, __ATOMIC_RELAXED);
	if (min_ns && !locks.hook.is_on) {
		memset(locks.waiters, 0, sizeof(locks.waiters));
		return hook_turn_on(vm, &locks.hook, &wanted, &callbacks, events);
	}
	if (!min_ns && locks.hook.is_on)
		hook_turn_off(&locks.hook, &wanted, events);
	return JVMTI_ERROR_NONE;
}
