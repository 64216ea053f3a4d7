/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events in Java code: allocations, waits for monitors, collected objects. Also the JVMTI
 * environment of each kind of event, and the names of classes.
 */
#include "jvmmap/hooks.h"

#include "jvmmap/session.h"
#include "jvmmap/sys.h"

HOOK(jvmmap_hook_gone);
void jvmmap_hook_gone(uint64_t number);

#define REFS 65536u /* a power of two */
/* places tried for one object; collected objects found there are reported */
#define PLACES_TRY   64u
#define TELL_AT_ONCE 256u /* places per turn with the lock */

/* Numbers have this bit and addresses do not: both are keys of bpf/live_allocs.h. */
#define NUMBER_BIT (1ull << 63)

struct ref {
	jweak object; /* NULL: the place is free */
	uint64_t number;
};

struct refs {
	struct sys_lock lock;
	struct ref *all; /* NULL if no session wants them */
	uint32_t next;   /* next place to check */
	uint64_t nr_made;
};

static struct refs refs;

static void drop(JNIEnv *jni, struct ref *r)
{
	(*jni)->DeleteWeakGlobalRef(jni, r->object);
	r->object = NULL;
}

/* Reports and drops the object if it has been collected. Returns whether the place is free. */
static int look_at(JNIEnv *jni, struct ref *r)
{
	if (r->object && (*jni)->IsSameObject(jni, r->object, NULL)) {
		jvmmap_hook_gone(r->number);
		drop(jni, r);
	}
	return !r->object;
}

static uint64_t take_place(JNIEnv *jni, struct ref *r, jobject object)
{
	r->object = (*jni)->NewWeakGlobalRef(jni, object);
	if (!r->object)
		return 0;
	r->number = ++refs.nr_made | NUMBER_BIT;
	return r->number;
}

/* The number of the object; 0 if it is not tracked: no session wants it, or there is no room. */
static uint64_t refs_add(JNIEnv *jni, jobject object)
{
	uint64_t number = 0;

	if (!__atomic_load_n(&refs.all, __ATOMIC_RELAXED) || !sys_lock(&refs.lock))
		return 0;
	for (uint32_t i = 0; refs.all && i < PLACES_TRY; i++) {
		struct ref *r = &refs.all[refs.next++ & (REFS - 1)];
		if (look_at(jni, r)) {
			number = take_place(jni, r, object);
			break;
		}
	}
	sys_unlock(&refs.lock);
	return number;
}

/* Releases the lock often, because allocating threads take it. */
void refs_report(JNIEnv *jni)
{
	for (uint32_t at = 0; at < REFS; at += TELL_AT_ONCE) {
		while (!sys_lock(&refs.lock))
			;
		for (uint32_t i = at; refs.all && i < at + TELL_AT_ONCE; i++)
			look_at(jni, &refs.all[i]);
		sys_unlock(&refs.lock);
	}
}

/*
 * Weak references to sampled objects. When the JVM has collected an object,
 * jvmmap_hook_gone(number) is called. Without a session that wants this, there are no references
 * and no memory is used. refs_settle starts, or drops everything. Runs on any thread of the JVM.
 */
static void refs_settle(JavaVM *vm, int is_wanted)
{
	JNIEnv *jni = NULL;

	if (is_wanted == (refs.all != NULL) || !sys_lock(&refs.lock))
		return;
	if (is_wanted) {
		struct ref *all = sys_map(NULL, REFS * sizeof(*all), -1, 0);
		__atomic_store_n(&refs.all, all, __ATOMIC_RELAXED);
	} else if ((*vm)->GetEnv(vm, (void **)&jni, JNI_VERSION_1_6) == JNI_OK) {
		for (uint32_t i = 0; i < REFS; i++)
			if (refs.all[i].object)
				drop(jni, &refs.all[i]);
		sys_unmap(refs.all, REFS * sizeof(*refs.all));
		__atomic_store_n(&refs.all, NULL, __ATOMIC_RELAXED);
	}
	sys_unlock(&refs.lock);
}

HOOK(jvmmap_hook_alloc);
void jvmmap_hook_alloc(uint64_t class, uint64_t size, uint64_t interval, uint64_t number);

struct allocs {
	struct hook hook;
	uint64_t interval; /* the JVM's current sampling interval */
};

static struct allocs allocs;

static void JNICALL on_alloc(jvmtiEnv *env, JNIEnv *jni, jthread thread, jobject object,
			     jclass class, jlong size)
{
	jvmmap_hook_alloc(hook_class(env, class), (uint64_t)size,
			  __atomic_load_n(&allocs.interval, __ATOMIC_RELAXED),
			  refs_add(jni, object));
}

/* At the JVM's end: report the collected objects, which were not live at the end. */
static void JNICALL on_death(jvmtiEnv *env, JNIEnv *jni)
{
	refs_report(jni);
}

/* The shortest interval that a session wants; 0 if no session wants allocations. */
static uint64_t wanted_interval(struct session *const sessions[], int nr)
{
	uint64_t least = 0;

	for (int i = 0; i < nr; i++)
		if (sessions[i] && sessions[i]->alloc_interval &&
		    (!least || sessions[i]->alloc_interval < least))
			least = sessions[i]->alloc_interval;
	return least;
}

static int wants_refs(struct session *const sessions[], int nr)
{
	int wanted = 0;

	for (int i = 0; i < nr; i++)
		wanted |= sessions[i] && sessions[i]->alloc_interval && sessions[i]->wants_refs;
	return wanted;
}

/*
 * Turns the event on if a session wants it, off if none does. Called with the agent's lock held, on
 * any thread.
 */
static jvmtiError allocs_settle(JavaVM *vm, struct session *const sessions[], int nr)
{
	static const jvmtiEventCallbacks callbacks = { .SampledObjectAlloc = on_alloc,
						       .VMDeath = on_death };
	static const jvmtiCapabilities wanted = { .can_generate_sampled_object_alloc_events = 1 };
	static const jvmtiEvent events[] = { JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, JVMTI_EVENT_VM_DEATH,
					     0 };
	uint64_t interval = wanted_interval(sessions, nr);
	jvmtiError err = JVMTI_ERROR_NONE;

	refs_settle(vm, wants_refs(sessions, nr));
	if (interval && !allocs.hook.is_on)
		err = hook_turn_on(vm, &allocs.hook, &wanted, &callbacks, events);
	if (allocs.hook.is_on && interval != allocs.interval) {
		/* Without a session, restore the JVM's default. */
		uint64_t set = interval ? interval : WIRE_ALLOC_INTERVAL;
		__atomic_store_n(&allocs.interval, interval, __ATOMIC_RELAXED);
		(*allocs.hook.env)->SetHeapSamplingInterval(allocs.hook.env, (jint)set);
	}
	if (!interval && allocs.hook.is_on)
		hook_turn_off(&allocs.hook, &wanted, events);
	return err;
}

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

/* Notes the start of a wait. If there is no free place, the wait is counted but not reported. */
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

/*
 * A wait of at least `min_ns` is reported. A shorter one is reported with the probability duration
 * / min_ns and counts for min_ns, which bounds the rate.
 */
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

/*
 * Turns the event on if a session wants it, off if none does. Called with the agent's lock held, on
 * any thread.
 */
static jvmtiError locks_settle(JavaVM *vm, struct session *const sessions[], int nr)
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

static void report(struct session *asking, enum wire_hook hook, int is_wanted, jvmtiError err)
{
	asking->header->hook_states[hook] = !is_wanted ? WIRE_HOOK_OFF
					    : err      ? -(int32_t)err
						       : WIRE_HOOK_ON;
}

void hooks_settle(JavaVM *vm, struct session *const sessions[], int nr, struct session *asking)
{
	jvmtiError alloc_err = allocs_settle(vm, sessions, nr);
	jvmtiError lock_err = locks_settle(vm, sessions, nr);
	if (!asking)
		return;
	report(asking, WIRE_HOOK_ALLOC, asking->alloc_interval != 0, alloc_err);
	report(asking, WIRE_HOOK_LOCK, asking->lock_min_ns != 0, lock_err);
}

/* JVMTI environments and names of classes for all hooks, also for calls of methods (methods.c). */

#define KNOWN_CLASSES 4096 /* a power of two */
#define KNOWN_WAYS    4
#define LOOK_EVERY    1024 /* events between two checks for sessions without a reader */

struct names {
	uint32_t nr_events;
	uint64_t known[KNOWN_CLASSES]; /* hashes of names that every session has */
};

static struct names names;

static jvmtiError set_events(const struct hook *h, jvmtiEventMode mode, const jvmtiEvent *events)
{
	jvmtiError first = JVMTI_ERROR_NONE;

	for (; *events; events++) {
		jvmtiError err = (*h->env)->SetEventNotificationMode(h->env, mode, *events, NULL);
		if (!first)
			first = err;
	}
	return first;
}

jvmtiEnv *hook_env(JavaVM *vm, struct hook *h)
{
	jvmtiEnv *env = NULL;

	if (!h->env && (*vm)->GetEnv(vm, (void **)&env, JVMTI_VERSION_1_2) == JNI_OK)
		h->env = env;
	return h->env;
}

jvmtiError hook_turn_on(JavaVM *vm, struct hook *h, const jvmtiCapabilities *wanted,
			const jvmtiEventCallbacks *callbacks, const jvmtiEvent *events)
{
	if (!hook_env(vm, h))
		return JVMTI_ERROR_INVALID_ENVIRONMENT;
	jvmtiError err = (*h->env)->AddCapabilities(h->env, wanted);
	if (err)
		return err;
	err = (*h->env)->SetEventCallbacks(h->env, callbacks, sizeof(*callbacks));
	if (!err)
		err = set_events(h, JVMTI_ENABLE, events);
	h->is_on = !err;
	if (err)
		(*h->env)->RelinquishCapabilities(h->env, wanted);
	return err;
}

void hook_turn_off(struct hook *h, const jvmtiCapabilities *wanted, const jvmtiEvent *events)
{
	set_events(h, JVMTI_DISABLE, events);
	(*h->env)->RelinquishCapabilities(h->env, wanted);
	h->is_on = 0;
}

static uint64_t *class_place(uint64_t hash, uint32_t way)
{
	return &names.known[(hash + way) & (KNOWN_CLASSES - 1)];
}

static int is_known(uint64_t hash)
{
	for (uint32_t way = 0; way < KNOWN_WAYS; way++)
		if (__atomic_load_n(class_place(hash, way), __ATOMIC_RELAXED) == hash)
			return 1;
	return 0;
}

/*
 * Remembers that every session has this name. If all ways are taken, it replaces another name,
 * which will be sent again later.
 */
static void make_known(uint64_t hash)
{
	uint32_t way = 0;

	while (way < KNOWN_WAYS && *class_place(hash, way))
		way++;
	__atomic_store_n(class_place(hash, way < KNOWN_WAYS ? way : (uint32_t)(hash >> 60) % 4),
			 hash, __ATOMIC_RELAXED);
}

/*
 * Sends the name to sessions that may not know it. Also runs at times for known names, because it
 * closes sessions without a reader.
 */
static void report_class(uint64_t hash, const char *name)
{
	uint32_t nr = __atomic_add_fetch(&names.nr_events, 1, __ATOMIC_RELAXED);
	struct session *all[SESSIONS_MAX];
	uint64_t time_ns;
	int is_reported = is_known(hash);

	if (is_reported && nr % LOOK_EVERY)
		return;
	int nr_sessions = sessions_begin(all, &time_ns), nr_reported = 0;
	for (int i = 0; i < nr_sessions; i++)
		nr_reported += is_reported || session_class(all[i], hash, name);
	if (!is_reported && nr_reported && nr_reported == nr_sessions)
		make_known(hash);
	if (nr_sessions)
		sessions_end();
}

uint64_t hook_class(jvmtiEnv *env, jclass class)
{
	char *name = NULL;
	uint64_t hash = 0;

	if ((*env)->GetClassSignature(env, class, &name, NULL) == JVMTI_ERROR_NONE && name) {
		hash = session_hash(name);
		report_class(hash, name);
	}
	(*env)->Deallocate(env, (unsigned char *)name);
	return hash;
}

void hook_forget_classes(void)
{
	memset(names.known, 0, sizeof(names.known));
}
