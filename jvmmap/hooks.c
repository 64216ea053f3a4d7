/* SPDX-License-Identifier: Apache-2.0 */
/* What Java code does, told as it happens. */
#include "jvmmap/hooks.h"

#include "jvmmap/agent.h"
#include "jvmmap/sys.h"

#define KNOWN_CLASSES 4096 /* a power of two */
#define KNOWN_WAYS    4
#define LOOK_EVERY    1024 /* events, until we look whether somebody still wants them */

/*
 * An empty function for a uprobe: first a nop of 5 bytes, which newer kernels make a call instead
 * of a trap, and nothing but registers is used. The arguments are the hook's own affair.
 */
#if defined(__x86_64__)
#define HOOK_CODE ".byte 0x0f,0x1f,0x44,0x00,0x00\n\tret\n"
#elif defined(__aarch64__)
#define HOOK_CODE "nop\n\tret\n"
#endif
#define HOOK(name)                                                                                \
	__asm__(".text\n\t.globl " #name "\n\t.type " #name ", %function\n\t.p2align 6\n" #name   \
		":\n\t.cfi_startproc\n\t" HOOK_CODE "\t.cfi_endproc\n\t.size " #name ", .-" #name \
		"\n")

HOOK(jvmmap_hook_alloc);
void jvmmap_hook_alloc(uint64_t class_hash, uint64_t size, uint64_t interval);

/* A kind of event. */
struct hook {
	jvmtiEnv *env; /* NULL until it is wanted for the first time */
	int is_on;
};

struct hooks {
	struct hook alloc;
	uint64_t alloc_interval; /* that the JVM samples at */
	uint32_t nr_events;
	uint64_t known[KNOWN_CLASSES]; /* hashes of the names that every session was told */
};

static struct hooks hooks;

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

/* `events` ends with 0. The environment stays for the next time: none is ever quite gone. */
static jvmtiError turn_on(JavaVM *vm, struct hook *h, const jvmtiCapabilities *wanted,
			  const jvmtiEventCallbacks *callbacks, const jvmtiEvent *events)
{
	jvmtiEnv *env = NULL;

	if (!h->env && ((*vm)->GetEnv(vm, (void **)&env, JVMTI_VERSION_1_2) != JNI_OK || !env))
		return JVMTI_ERROR_INVALID_ENVIRONMENT;
	if (!h->env)
		h->env = env;
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

/* Other agents can have the capability after it. */
static void turn_off(struct hook *h, const jvmtiCapabilities *wanted, const jvmtiEvent *events)
{
	set_events(h, JVMTI_DISABLE, events);
	(*h->env)->RelinquishCapabilities(h->env, wanted);
	h->is_on = 0;
}

/* --- names of classes ------------------------------------------------------------------------ */

static uint64_t *place_of(uint64_t hash, uint32_t way)
{
	return &hooks.known[(hash + way) & (KNOWN_CLASSES - 1)];
}

static int is_known(uint64_t hash)
{
	for (uint32_t way = 0; way < KNOWN_WAYS; way++)
		if (__atomic_load_n(place_of(hash, way), __ATOMIC_RELAXED) == hash)
			return 1;
	return 0;
}

/* In the place of another if need be; that is told again then. */
static void make_known(uint64_t hash)
{
	uint32_t way = 0;

	while (way < KNOWN_WAYS && *place_of(hash, way))
		way++;
	__atomic_store_n(place_of(hash, way < KNOWN_WAYS ? way : (uint32_t)(hash >> 60) % 4), hash,
			 __ATOMIC_RELAXED);
}

/* Every now and then also if all know it: this is where sessions without a reader end. */
static void tell_class(uint64_t hash, const char *name)
{
	uint32_t nr = __atomic_add_fetch(&hooks.nr_events, 1, __ATOMIC_RELAXED);
	struct session *all[SESSIONS_MAX];
	uint64_t time_ns;
	int is_told = is_known(hash);

	if (is_told && nr % LOOK_EVERY)
		return;
	int nr_sessions = agent_begin(all, &time_ns), nr_told = 0;
	for (int i = 0; i < nr_sessions; i++)
		nr_told += is_told || session_class(all[i], hash, name);
	if (!is_told && nr_told && nr_told == nr_sessions)
		make_known(hash);
	if (nr_sessions)
		agent_end();
}

/* The name by which a class is meant, told to all before; 0 if it has none. */
static uint64_t name_class(jvmtiEnv *env, jclass class)
{
	char *name = NULL;
	uint64_t hash = 0;

	if ((*env)->GetClassSignature(env, class, &name, NULL) == JVMTI_ERROR_NONE && name) {
		hash = session_hash(name);
		tell_class(hash, name);
	}
	(*env)->Deallocate(env, (unsigned char *)name);
	return hash;
}

/* --- sampled allocations --------------------------------------------------------------------- */

static void JNICALL on_alloc(jvmtiEnv *env, JNIEnv *jni, jthread thread, jobject object,
			     jclass class, jlong size)
{
	jvmmap_hook_alloc(name_class(env, class), (uint64_t)size,
			  __atomic_load_n(&hooks.alloc_interval, __ATOMIC_RELAXED));
}

/* The shortest distance that a session wants; 0 if none wants any. */
static uint64_t wanted_interval(struct session *const sessions[], int nr)
{
	uint64_t least = 0;

	for (int i = 0; i < nr; i++)
		if (sessions[i] && sessions[i]->alloc_interval &&
		    (!least || sessions[i]->alloc_interval < least))
			least = sessions[i]->alloc_interval;
	return least;
}

static jvmtiError settle_alloc(JavaVM *vm, uint64_t interval)
{
	static const jvmtiEventCallbacks callbacks = { .SampledObjectAlloc = on_alloc };
	static const jvmtiCapabilities wanted = { .can_generate_sampled_object_alloc_events = 1 };
	static const jvmtiEvent events[] = { JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, 0 };
	jvmtiError err = JVMTI_ERROR_NONE;

	if (interval && !hooks.alloc.is_on)
		err = turn_on(vm, &hooks.alloc, &wanted, &callbacks, events);
	if (hooks.alloc.is_on && interval != hooks.alloc_interval) {
		/* The JVM's own default, when nobody wants any. */
		uint64_t set = interval ? interval : WIRE_ALLOC_INTERVAL;
		__atomic_store_n(&hooks.alloc_interval, interval, __ATOMIC_RELAXED);
		(*hooks.alloc.env)->SetHeapSamplingInterval(hooks.alloc.env, (jint)set);
	}
	if (!interval && hooks.alloc.is_on)
		turn_off(&hooks.alloc, &wanted, events);
	return err;
}

/* --- all ------------------------------------------------------------------------------------- */

void hooks_settle(JavaVM *vm, struct session *const sessions[], int nr, struct session *asking)
{
	/* It knows no class yet: every name is told again. */
	if (asking && asking->alloc_interval)
		memset(hooks.known, 0, sizeof(hooks.known));
	jvmtiError err = settle_alloc(vm, wanted_interval(sessions, nr));
	if (asking && asking->alloc_interval)
		asking->header->hook_states[WIRE_HOOK_ALLOC] = err ? -(int32_t)err : WIRE_HOOK_ON;
}
