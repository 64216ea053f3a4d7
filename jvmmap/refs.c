/* SPDX-License-Identifier: Apache-2.0 */
/* Weak references to sampled objects. */
#include "jvmmap/refs.h"

#include "jvmmap/hook.h"
#include "jvmmap/sys.h"

HOOK(jvmmap_hook_gone);
void jvmmap_hook_gone(uint64_t number);

#define REFS         65536u /* a power of two */
#define PLACES_TRY   64u    /* for one object; collected objects found there are reported */
#define TELL_AT_ONCE 256u   /* places per turn with the lock */

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

uint64_t refs_add(JNIEnv *jni, jobject object)
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

void refs_settle(JavaVM *vm, int is_wanted)
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
