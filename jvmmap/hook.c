/* SPDX-License-Identifier: Apache-2.0 */
/* One kind of event in Java code: its environment, and the names of classes. */
#include "jvmmap/hook.h"

#include "jvmmap/session.h"
#include "jvmmap/sys.h"

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

static uint64_t *place_of(uint64_t hash, uint32_t way)
{
	return &names.known[(hash + way) & (KNOWN_CLASSES - 1)];
}

static int is_known(uint64_t hash)
{
	for (uint32_t way = 0; way < KNOWN_WAYS; way++)
		if (__atomic_load_n(place_of(hash, way), __ATOMIC_RELAXED) == hash)
			return 1;
	return 0;
}

/* Replaces another name if necessary, which is then sent again. */
static void make_known(uint64_t hash)
{
	uint32_t way = 0;

	while (way < KNOWN_WAYS && *place_of(hash, way))
		way++;
	__atomic_store_n(place_of(hash, way < KNOWN_WAYS ? way : (uint32_t)(hash >> 60) % 4), hash,
			 __ATOMIC_RELAXED);
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
