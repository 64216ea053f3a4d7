/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent that is loaded into JVMs. It executes the commands of wire.h and passes the JVM's
 * events about compiled code to every session.
 *
 * It stays loaded until the JVM ends. If Agent_OnAttach returned an error, the JVM would unload it
 * and crash in the next event. It therefore always returns 0, and a session's header holds errors.
 */
#include <jvmti.h>

#include "jvmmap/hooks.h"
#include "jvmmap/methods.h"
#include "jvmmap/session.h"
#include "jvmmap/sys.h"
#include "jvmmap/wire.h"
#include "jvmmap/wire_records.h"

#define TURN_MS     1000
#define THREAD_NAME "sysflame"

struct watch {
	JavaVM *vm;
	int (*turn)(JavaVM *vm);
};

static struct watch watch; /* of the only thread */

/* The function of the agent's own thread. It sleeps in native state, so it delays no safepoint. */
static void JNICALL run(jvmtiEnv *env, JNIEnv *jni, void *arg)
{
	do
		sys_sleep_ms(TURN_MS);
	while (watch.turn(watch.vm));
}

/* NULL with an exception pending if there is no memory. */
static jobject make_thread(JNIEnv *jni)
{
	jclass class = (*jni)->FindClass(jni, "java/lang/Thread");
	jmethodID make =
		class ? (*jni)->GetMethodID(jni, class, "<init>", "(Ljava/lang/String;)V") : NULL;
	jstring name = make ? (*jni)->NewStringUTF(jni, THREAD_NAME) : NULL;

	return name ? (*jni)->NewObject(jni, class, make, name) : NULL;
}

/*
 * Starts a daemon thread of the JVM that calls `turn` every second until it returns 0. The thread
 * is hidden from programs in the JVM. Call it from a thread of the JVM in native state.
 */
static jvmtiError watch_start(JavaVM *vm, jvmtiEnv *env, int (*turn)(JavaVM *vm))
{
	JNIEnv *jni = NULL;

	if ((*vm)->GetEnv(vm, (void **)&jni, JNI_VERSION_1_6) != JNI_OK)
		return JVMTI_ERROR_UNATTACHED_THREAD;
	if ((*jni)->PushLocalFrame(jni, 8))
		return JVMTI_ERROR_OUT_OF_MEMORY;
	jobject thread = make_thread(jni);
	watch = (struct watch){ vm, turn };
	jvmtiError err = (*jni)->ExceptionCheck(jni) || !thread
				 ? JVMTI_ERROR_OUT_OF_MEMORY
				 : (*env)->RunAgentThread(env, thread, run, NULL,
							  JVMTI_THREAD_NORM_PRIORITY);
	if ((*jni)->ExceptionCheck(jni))
		(*jni)->ExceptionClear(jni);
	(*jni)->PopLocalFrame(jni, NULL);
	return err;
}

#define REPLAY_WAIT_MS 500
#define PAUSE_MAX      32 /* turns of the watch between two attempts to change a class back */

struct agent {
	JavaVM *vm;
	jvmtiEnv *env; /* made once: the JVM never frees a JVMTI environment completely */
	int is_enabled;
};

static struct agent agent; /* protected by the lock of the sessions */

/*
 * The state of changed classes. Commands change classes, and the thread that watches for killed
 * recorders changes them back.
 */
struct changes {
	/* protects the data of methods.h and this struct; taken before the lock of the sessions */
	struct sys_lock lock;
	int is_watched;
	int pause, left; /* of the watch, in turns */
};

static struct changes changes;

static const char mark[] __attribute__((used)) = WIRE_MARK WIRE_TEXT(WIRE_ABI);

static const jvmtiEvent events[] = {
	JVMTI_EVENT_COMPILED_METHOD_LOAD,
	JVMTI_EVENT_COMPILED_METHOD_UNLOAD,
	JVMTI_EVENT_DYNAMIC_CODE_GENERATED,
	JVMTI_EVENT_THREAD_START,
};
#define NR_EVENTS ((int)(sizeof(events) / sizeof(events[0])))

static jvmtiError enable_events(jvmtiEventMode mode)
{
	jvmtiError first = JVMTI_ERROR_NONE;

	for (int i = 0; i < NR_EVENTS; i++) {
		jvmtiError err =
			(*agent.env)->SetEventNotificationMode(agent.env, mode, events[i], NULL);
		if (!first)
			first = err;
	}
	agent.is_enabled = mode == JVMTI_ENABLE;
	return first;
}

/* Turns events off when no session wants them. */
static void settle_events(void)
{
	struct session *const *all = sessions_all();
	int nr = 0;

	for (int i = 0; i < SESSIONS_MAX; i++)
		nr += all[i] && all[i]->wants_live;
	if (!nr && agent.is_enabled)
		enable_events(JVMTI_DISABLE);
	hooks_settle(agent.vm, all, SESSIONS_MAX, NULL);
}

static void write_inline(struct session *s, jvmtiEnv *env, uint64_t addr, uint64_t size,
			 const void *compile_info)
{
	const jvmtiCompiledMethodLoadRecordHeader *head = compile_info;

	for (; head; head = head->next) {
		const jvmtiCompiledMethodLoadInlineRecord *record = (const void *)head;
		if (head->kind == JVMTI_CMLR_INLINE_INFO)
			session_inline(s, env, addr, size, record->pcinfo, record->numpcs);
	}
}

static void JNICALL on_load(jvmtiEnv *env, jmethodID method, jint size, const void *addr,
			    jint map_length, const jvmtiAddrLocationMap *map,
			    const void *compile_info)
{
	struct session *all[SESSIONS_MAX];
	uint64_t time_ns;
	int nr = sessions_begin(all, &time_ns);

	for (int i = 0; i < nr; i++) {
		session_next_event(all[i]);
		int slot = session_method(all[i], env, method);
		if (slot < 0)
			continue;
		if (session_load(all[i], time_ns, (uint64_t)addr, (uint32_t)size, (uint32_t)slot) &&
		    all[i]->wants_inline)
			write_inline(all[i], env, (uint64_t)addr, (uint32_t)size, compile_info);
	}
	if (nr)
		sessions_end();
}

static void JNICALL on_unload(jvmtiEnv *env, jmethodID method, const void *addr)
{
	struct session *all[SESSIONS_MAX];
	uint64_t time_ns;
	int nr = sessions_begin(all, &time_ns);

	for (int i = 0; i < nr; i++)
		session_unload(all[i], time_ns, (uint64_t)addr);
	if (nr)
		sessions_end();
}

static void JNICALL on_code(jvmtiEnv *env, const char *name, const void *addr, jint size)
{
	struct session *all[SESSIONS_MAX];
	uint64_t time_ns;
	int nr = sessions_begin(all, &time_ns);

	for (int i = 0; i < nr; i++)
		session_code(all[i], time_ns, (uint64_t)addr, (uint32_t)size, name ? name : "");
	if (nr)
		sessions_end();
}

/* Runs on the thread itself, before its first method. */
static void JNICALL on_thread_start(jvmtiEnv *env, JNIEnv *jni, jthread thread)
{
	struct session *all[SESSIONS_MAX];
	jvmtiThreadInfo info = { 0 };
	uint64_t time_ns;

	if ((*env)->GetThreadInfo(env, thread, &info) != JVMTI_ERROR_NONE || !info.name)
		return;
	int nr = sessions_begin(all, &time_ns), tid = sys_gettid();
	for (int i = 0; i < nr; i++)
		session_thread(all[i], tid, info.name);
	if (nr)
		sessions_end();
	(*env)->Deallocate(env, (unsigned char *)info.name);
}

/* The value of "key=value;" in the options, and its length; NULL if the key is absent. */
static const char *option(const char *options, const char *key, int *len)
{
	while (*options) {
		const char *at = options, *k = key;
		while (*k && *at == *k)
			at++, k++;
		if (!*k && *at == '=') {
			at++;
			for (*len = 0; at[*len] && at[*len] != ';';)
				++*len;
			return at;
		}
		while (*options && *options++ != ';')
			;
	}
	return NULL;
}

static int option_is(const char *options, const char *key, const char *value)
{
	int len = 0, i = 0;
	const char *at = option(options, key, &len);

	if (!at)
		return 0;
	while (i < len && value[i] && at[i] == value[i])
		i++;
	return i == len && !value[i];
}

/* 0 if it is absent or not a number that the JVM accepts. */
static uint64_t option_number(const char *options, const char *key)
{
	int len = 0;
	const char *at = option(options, key, &len);
	uint64_t number = 0;

	for (int i = 0; at && i < len; i++) {
		if (at[i] < '0' || at[i] > '9' || number > 0x7fffffff / 10 - 1)
			return 0;
		number = 10 * number + (uint64_t)(at[i] - '0');
	}
	return number;
}

/* Copies the value as a string; "" if it is absent or too long. */
static void option_text(const char *options, const char *key, char *out, size_t size)
{
	int len = 0;
	const char *at = option(options, key, &len);

	if (!at || (size_t)len >= size)
		len = 0;
	memcpy(out, at, (size_t)len);
	out[len] = '\0';
}

static void fail(struct session *s, enum wire_step step, int error)
{
	s->header->failed_step = step;
	s->header->error = error;
	__atomic_store_n(&s->header->state, WIRE_FAILED, __ATOMIC_RELEASE);
}

/* Makes the environment with its capability and callbacks, once for the life of the JVM. */
static int make_env(JavaVM *vm, struct session *s)
{
	static const jvmtiEventCallbacks callbacks = {
		.CompiledMethodLoad = on_load,
		.CompiledMethodUnload = on_unload,
		.DynamicCodeGenerated = on_code,
		.ThreadStart = on_thread_start,
	};
	const jvmtiCapabilities wanted = { .can_generate_compiled_method_load_events = 1 };
	enum wire_step step = WIRE_STEP_CAPABILITY;
	jvmtiEnv *env = NULL;

	if (agent.env)
		return 1;
	jint err = (*vm)->GetEnv(vm, (void **)&env, JVMTI_VERSION_1_2);
	if (err != JNI_OK || !env) {
		fail(s, WIRE_STEP_GET_ENV, err);
		return 0;
	}
	jvmtiError jvmti_err = (*env)->AddCapabilities(env, &wanted);
	if (!jvmti_err) {
		step = WIRE_STEP_CALLBACKS;
		jvmti_err = (*env)->SetEventCallbacks(env, &callbacks, sizeof(callbacks));
	}
	if (jvmti_err) {
		(*env)->DisposeEnvironment(env);
		fail(s, step, (int)jvmti_err);
		return 0;
	}
	agent.env = env;
	return 1;
}

/* Reports all existing code to the session of the command. Releases the lock meanwhile, because the
 * events take it. */
static jvmtiError generate_events(void)
{
	struct session *s = sessions_used();

	sessions_replay(sys_gettid());
	s->may_wait_ms = REPLAY_WAIT_MS;
	session_mark(s, WIRE_REPLAY_BEGIN, sys_mono_ns());
	sessions_unlock();

	jvmtiError err =
		(*agent.env)->GenerateEvents(agent.env, JVMTI_EVENT_DYNAMIC_CODE_GENERATED);
	if (!err)
		err = (*agent.env)->GenerateEvents(agent.env, JVMTI_EVENT_COMPILED_METHOD_LOAD);

	sessions_lock();
	sessions_replay(0);
	session_mark(s, WIRE_REPLAY_END, sys_mono_ns());
	s->may_wait_ms = 0;
	/*
	 * WRONG_PHASE: the agent was loaded at the JVM's start, when there is nothing to report
	 * yet.
	 */
	return err == JVMTI_ERROR_WRONG_PHASE ? JVMTI_ERROR_NONE : err;
}

/* Called with the lock held and returns with it, like all commands. */
static void replay(void)
{
	jvmtiError err = generate_events();

	if (err)
		fail(sessions_used(), WIRE_STEP_REPLAY, (int)err);
	else
		__atomic_store_n(&sessions_used()->header->state, WIRE_LIVE, __ATOMIC_RELEASE);
}

/* Reads, from the options, the events in Java code that the session wants. */
static void set_hooks(struct session *s, const char *options)
{
	s->wants_refs = option_is(options, "refs", "1");
	s->alloc_interval = option_number(options, "alloc");
	s->lock_min_ns = option_number(options, "lock");
	option_text(options, "methods", s->calls, sizeof(s->calls));
}

static void start(JavaVM *vm, const char *options, const char *nonce)
{
	struct session *s = sessions_open(nonce);

	/* Without a session there is no header for an error: the reader finds no session. */
	if (!s)
		return;
	s->wants_inline = option_is(options, "inline", "1");
	s->wants_live = !option_is(options, "live", "0");
	set_hooks(s, options);
	sessions_use(s);
	hook_forget_classes();
	if (!make_env(vm, s))
		return;

	/* Enable events first, or code compiled during the report would be missed. */
	jvmtiError err = enable_events(JVMTI_ENABLE);
	if (err)
		fail(s, WIRE_STEP_ENABLE, (int)err);
	else
		replay();
	settle_events();
	hooks_settle(vm, sessions_all(), SESSIONS_MAX, s);
}

/* Ends one session, or all of them for NULL. */
static void stop(struct session *one)
{
	struct session *const *all = sessions_all();

	for (int i = 0; i < SESSIONS_MAX; i++)
		if (all[i] && (!one || all[i] == one))
			sessions_close(all[i]);
	settle_events();
}

/*
 * Called with the lock held and returns with it. Releases it meanwhile, because a collection takes
 * time.
 */
static void report_refs(JavaVM *vm, int collect)
{
	JNIEnv *jni = NULL;

	sessions_unlock();
	if (collect)
		(*agent.env)->ForceGarbageCollection(agent.env);
	if ((*vm)->GetEnv(vm, (void **)&jni, JNI_VERSION_1_6) == JNI_OK)
		refs_report(jni);
	sessions_lock();
}

static void lock_changes(void)
{
	while (!sys_lock(&changes.lock))
		;
}

/*
 * Collects the wanted methods, for methods_apply. Called with the lock of the changes. Also closes
 * the sessions of readers that have gone: the watch, which ends once their classes are changed
 * back, would not see them again.
 */
static int collect_methods(void)
{
	sessions_lock();
	int has_work = methods_settle(sessions_all(), SESSIONS_MAX, sys_mono_ns());
	sessions_close_abandoned();
	sessions_unlock();
	return has_work;
}

/*
 * A turn of the agent's own thread, which runs while classes are changed. Closes the sessions of
 * readers that have gone and changes their classes back. While a loop runs in such a class, it
 * retries at growing intervals. Returns 0 when all classes are restored.
 */
static int watch_turn(JavaVM *vm)
{
	lock_changes();
	collect_methods();
	int is_due = !methods_are_current() && --changes.left <= 0;
	if (is_due) {
		methods_apply(vm);
		changes.pause = changes.pause < PAUSE_MAX / 2 ? 2 * changes.pause : PAUSE_MAX;
		changes.left = changes.pause;
	}
	changes.is_watched = methods_are_changed();
	int goes_on = changes.is_watched;
	sys_unlock(&changes.lock);
	return goes_on;
}

/* Without the thread, the next command changes the classes back. */
static void settle_watch(JavaVM *vm)
{
	changes.pause = 1;
	changes.left = 0;
	if (!changes.is_watched && methods_are_changed())
		changes.is_watched = !watch_start(vm, agent.env, watch_turn);
}

/*
 * The reader may look at any time. The number is cleared first and set last. A method whose number
 * the reader finds has therefore failed, now or before; only the error may be another method's.
 */
static void report_failure(struct session *s, int i, uint32_t number, jvmtiError err)
{
	struct wire_method_failure *f = &s->header->method_failures[i];

	__atomic_store_n(&f->number, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&f->state, -(int32_t)err, __ATOMIC_RELEASE);
	__atomic_store_n(&f->number, number, __ATOMIC_RELEASE);
}

static void report_running(struct session *s)
{
	const char *running = methods_running();
	size_t i = 0;

	for (; running[i]; i++)
		s->header->running[i] = running[i];
	s->header->running[i] = '\0';
}

/* Writes the states of the session's methods. An `err` applies to all of them. */
static void report_methods(struct session *s, jvmtiError err)
{
	jvmtiError first = JVMTI_ERROR_NONE;
	int nr = 0;

	for (const char *at = s->calls; *at && nr < WIRE_METHODS;) {
		size_t len = 0;
		while (at[len] && at[len] != ',')
			len++;
		jvmtiError state = err ? err : methods_state(at, len);
		if (state)
			report_failure(s, nr++, wire_method_number(at, len), state);
		if (state == (jvmtiError)WIRE_ERROR_RUNNING)
			report_running(s);
		if (!first)
			first = state;
		at += len + (at[len] == ',');
	}
	while (nr < WIRE_METHODS)
		report_failure(s, nr++, 0, JVMTI_ERROR_NONE);
	s->header->names_failures = 1;
	__atomic_store_n(&s->header->hook_states[WIRE_HOOK_METHOD],
			 first ? -(int32_t)first : WIRE_HOOK_ON, __ATOMIC_RELEASE);
}

/*
 * Called with the lock held and returns with it. Releases it while classes change. Never call this
 * during the first load of the agent: the JVM finds an agent's native methods only after that load,
 * and until then each call of the hook would throw (JvmtiAgentList::load_agent, JDK 25).
 */
static void settle_methods(JavaVM *vm, struct session *asking)
{
	sessions_unlock();
	lock_changes();
	int has_work = collect_methods();
	jvmtiError err = has_work ? methods_apply(vm) : JVMTI_ERROR_NONE;
	if (has_work)
		settle_watch(vm);
	sessions_lock();
	if (asking && *asking->calls)
		report_methods(asking, err);
	else if (asking)
		asking->header->hook_states[WIRE_HOOK_METHOD] = WIRE_HOOK_OFF;
	sys_unlock(&changes.lock);
	/* If the reader has gone in the meantime, no further command will come from it. */
	if (has_work && asking && !session_is_wanted(asking, sys_mono_ns()))
		settle_methods(vm, NULL);
}

/* Attach requests are executed one after the other, on one thread. */
static void obey(JavaVM *vm, const char *options)
{
	char nonce[WIRE_NONCE_LEN + 1] = { 0 };
	int len = 0;

	if (!options || !option_is(options, "v", "1"))
		return;
	const char *at = option(options, "nonce", &len);
	int all = option_is(options, "nonce", "all");
	if (!at || (len != WIRE_NONCE_LEN && !all))
		return;
	memcpy(nonce, at, (size_t)len);

	sessions_lock();
	agent.vm = vm;
	sessions_on_close(settle_events);
	struct session *s = all ? NULL : sessions_find(nonce);
	int is_start = option_is(options, "cmd", "start");
	if (option_is(options, "cmd", "stop")) {
		if (s || all)
			stop(s);
	} else if (is_start && !all && !s) {
		start(vm, options, nonce);
	} else if (option_is(options, "cmd", "methods") && s && agent.env) {
		sessions_use(s);
	} else if (option_is(options, "cmd", "hooks") && s && agent.env) {
		sessions_use(s);
		set_hooks(s, options);
		hooks_settle(vm, sessions_all(), SESSIONS_MAX, s);
	} else if (option_is(options, "cmd", "replay") && s && agent.env) {
		sessions_use(s);
		replay();
	} else if (option_is(options, "cmd", "refs") && s && agent.env) {
		report_refs(vm, option_is(options, "gc", "1"));
	}
	if (!is_start)
		settle_methods(vm, sessions_used());
	sessions_use(NULL);
	sessions_unlock();
}

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved)
{
	obey(vm, options);
	return JNI_OK;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	obey(vm, options);
	return JNI_OK;
}
