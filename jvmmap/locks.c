/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for Java monitors. A wait of at least `min_ns` is reported. A shorter one is reported with
 * the probability duration / min_ns and counts for min_ns, which bounds the rate.
 */
#include "jvmmap/locks.h"

#include "jvmmap/hook.h"
#include "jvmmap/sys.h"

HOOK(jvmmap_hook_lock);
void jvmmap_hook_lock(uint64_t class, uint64_t waited_ns, uint64_t min_ns, uint64_t nr_lost);

#define WAITERS     16384 /* a power of two */
#define WAITERS_TRY 8     /* possible places of a thread */

struct waiter {
	uint64_t thread; /* the thread's number; 0: free */
	uint64_t since_ns;
};

struct locks {
	struct hook hook;
	uint64_t min_ns;
	jfieldID number; /* java.lang.Thread.tid */
	uint64_t nr_lost;
	struct waiter waiters[WAITERS];
};

static struct locks locks;

/*
 * A number that identifies the thread for its whole life. Its JNIEnv does not: since JDK 24 (JEP
 * 491) a waiting virtual thread leaves its carrier and may continue on another one, and others wait
 * on the same carrier. A thread that is being attached has no number yet; its JNIEnv address serves
 * then.
 */
static uint64_t number_of(JNIEnv *jni, jthread thread)
{
	jfieldID field = __atomic_load_n(&locks.number, __ATOMIC_RELAXED);
	uint64_t number = thread && field ? (uint64_t)(*jni)->GetLongField(jni, thread, field) : 0;

	return number ? number : (uintptr_t)jni;
}

/*
 * Consecutive threads have adjacent places, which keeps the number of used pages low. Half of the
 * places are elsewhere, for when these are taken.
 */
static struct waiter *place_of(uint64_t thread, uint32_t try)
{
	uint64_t at = try < WAITERS_TRY / 2 ? thread : thread * 0x9e3779b97f4a7c15ull >> 40;

	return &locks.waiters[(at + try) & (WAITERS - 1)];
}

/* A wait without a place is not reported, but counted. */
static void JNICALL on_enter(jvmtiEnv *env, JNIEnv *jni, jthread thread, jobject object)
{
	uint64_t number = number_of(jni, thread);

	for (uint32_t try = 0; try < WAITERS_TRY; try++) {
		struct waiter *w = place_of(number, try);
		uint64_t expected = 0;
		if (__atomic_load_n(&w->thread, __ATOMIC_RELAXED) == number ||
		    __atomic_compare_exchange_n(&w->thread, &expected, number, 0, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED)) {
			w->since_ns = sys_mono_ns();
			return;
		}
	}
	__atomic_fetch_add(&locks.nr_lost, 1, __ATOMIC_RELAXED);
}

/* The start of this thread's wait; 0 if unknown. */
static uint64_t take_wait(uint64_t thread)
{
	for (uint32_t try = 0; try < WAITERS_TRY; try++) {
		struct waiter *w = place_of(thread, try);
		if (__atomic_load_n(&w->thread, __ATOMIC_RELAXED) == thread) {
			uint64_t since_ns = w->since_ns;
			__atomic_store_n(&w->thread, 0, __ATOMIC_RELEASE);
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
	uint64_t number = number_of(jni, thread);
	uint64_t since_ns = take_wait(number), now_ns = sys_mono_ns();
	uint64_t waited_ns = now_ns > since_ns ? now_ns - since_ns : 1;

	if (!since_ns || !min_ns || !is_chosen(waited_ns, min_ns, now_ns ^ number << 32))
		return;
	jclass class = (*jni)->GetObjectClass(jni, object);
	jvmmap_hook_lock(hook_class(env, class), waited_ns, min_ns,
			 __atomic_exchange_n(&locks.nr_lost, 0, __ATOMIC_RELAXED));
	(*jni)->DeleteLocalRef(jni, class);
}

/* The shortest minimum that a session wants; 0 if no session wants waits. */
static uint64_t wanted_min(struct session *const sessions[], int nr)
{
	uint64_t least = 0;

	for (int i = 0; i < nr; i++)
		if (sessions[i] && sessions[i]->lock_min_ns &&
		    (!least || sessions[i]->lock_min_ns < least))
			least = sessions[i]->lock_min_ns;
	return least;
}

/*
 * The field must be looked up in java.lang.Thread itself, not in a subclass: -Xcheck:jni checks
 * this. The class is found by walking up, because a lookup by name could reach another class
 * loader.
 */
static jfieldID find_number(JNIEnv *jni, jthread thread)
{
	jclass class = (*jni)->GetObjectClass(jni, thread);

	for (jclass above; (above = (*jni)->GetSuperclass(jni, class));) {
		jclass object = (*jni)->GetSuperclass(jni, above);
		if (!object)
			break;
		class = above;
	}
	jfieldID field = (*jni)->GetFieldID(jni, class, "tid", "J");
	if (!field)
		(*jni)->ExceptionClear(jni);
	return field;
}

/* Looks up the field. Without it, waits of virtual threads would be reported wrongly. */
static jvmtiError learn_number(JavaVM *vm)
{
	jvmtiEnv *env = hook_env(vm, &locks.hook);
	JNIEnv *jni = NULL;
	jthread self = NULL;

	if (locks.number)
		return JVMTI_ERROR_NONE;
	if (!env || (*vm)->GetEnv(vm, (void **)&jni, JNI_VERSION_1_6) != JNI_OK ||
	    (*jni)->PushLocalFrame(jni, 16))
		return JVMTI_ERROR_INVALID_ENVIRONMENT;
	jvmtiError err = (*env)->GetCurrentThread(env, &self);
	jfieldID field = err || !self ? NULL : find_number(jni, self);
	(*jni)->PopLocalFrame(jni, NULL);
	__atomic_store_n(&locks.number, field, __ATOMIC_RELAXED);
	if (!err && !field)
		err = JVMTI_ERROR_INVALID_FIELDID;
	return err;
}

/* Writes only to used places, because a write would allocate the page. */
static void forget_waiters(void)
{
	for (int i = 0; i < WAITERS; i++)
		if (locks.waiters[i].thread)
			locks.waiters[i].thread = 0;
	locks.nr_lost = 0;
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
		jvmtiError err = learn_number(vm);
		forget_waiters();
		return err ?: hook_turn_on(vm, &locks.hook, &wanted, &callbacks, events);
	}
	if (!min_ns && locks.hook.is_on)
		hook_turn_off(&locks.hook, &wanted, events);
	return JVMTI_ERROR_NONE;
}
