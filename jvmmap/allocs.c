/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampled allocations: JVMTI reports one object per `interval` bytes on average.
 */
#include "jvmmap/allocs.h"

#include "jvmmap/hook.h"
#include "jvmmap/refs.h"

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

/* Objects collected by now were not live at the end. */
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

jvmtiError allocs_settle(JavaVM *vm, struct session *const sessions[], int nr)
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
