/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that plays a JVM. It implements the functions of JVMTI and JNI that the agent uses. The
 * agent's entry points and callbacks thus run under any libc: tests/jvm/test_agent_file builds it
 * with glibc and with musl. Threads of that libc report code as fast as they can while the agent
 * gets commands to start, replay and stop. usage: fake_vm AGENT EVENTS [refuse]: prints the number
 * of records that went through the ring; the status is 1 after any error.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <jvmti.h>
#include <jvmticmlr.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "jvmmap/wire.h"
#include "jvmmap/wire_records.h"

#define THREADS 3
#define NONCE   "0123456789abcdef0123456789abcdef"

typedef jint (*on_attach_fn)(JavaVM *vm, char *options, void *reserved);

static jvmtiEventCallbacks callbacks; /* of the agent */
static unsigned char is_on[JVMTI_MAX_EVENT_TYPE_VAL + 1];
static int nr_envs, nr_texts;
static unsigned nr_events;
static jvmtiError refusal; /* the result when the agent requests its capability */
static jvmtiEnv env;

static void check(int is_so, const char *what)
{
	if (is_so)
		return;
	printf("not so: %s (errno %d)\n", what, errno);
	exit(1);
}

static jvmtiError JNICALL add_capabilities(jvmtiEnv *e, const jvmtiCapabilities *wanted)
{
	const jvmtiCapabilities one = { .can_generate_compiled_method_load_events = 1 };

	check(!memcmp(wanted, &one, sizeof(one)), "no other capability");
	return refusal;
}

static jvmtiError JNICALL set_callbacks(jvmtiEnv *e, const jvmtiEventCallbacks *all, jint size)
{
	memcpy(&callbacks, all, (size_t)size);
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL set_mode(jvmtiEnv *e, jvmtiEventMode mode, jvmtiEvent event, jthread t,
				   ...)
{
	is_on[event] = mode == JVMTI_ENABLE;
	return JVMTI_ERROR_NONE;
}

static jvmtiError give_text(char **out, const char *format, long number)
{
	char text[64];

	if (!out)
		return JVMTI_ERROR_NONE;
	snprintf(text, sizeof(text), format, number);
	*out = strdup(text);
	__atomic_fetch_add(&nr_texts, 1, __ATOMIC_RELAXED);
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL deallocate(jvmtiEnv *e, unsigned char *at)
{
	__atomic_fetch_sub(&nr_texts, at != NULL, __ATOMIC_RELAXED);
	free(at);
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL method_name(jvmtiEnv *e, jmethodID m, char **name, char **signature,
				      char **generic)
{
	give_text(signature, "(I)V", 0);
	return give_text(name, "method%ld", (long)m % 1000);
}

static jvmtiError JNICALL declaring_class(jvmtiEnv *e, jmethodID m, jclass *out)
{
	*out = (jclass)m;
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL class_signature(jvmtiEnv *e, jclass c, char **signature, char **generic)
{
	return give_text(signature, "Lpkg/Class%ld;", (long)c / 1000);
}

/* Reports one method with another inlined into it. */
static void report(long number)
{
	jmethodID methods[] = { (jmethodID)(number % 7 + 1), (jmethodID)(number + 1) };
	char *at = (char *)0x7f0000000000 + 64 * (number % 100000);
	PCStackInfo range = { .pc = at + 16, .numstackframes = 2, .methods = methods };
	jvmtiCompiledMethodLoadInlineRecord inlined = {
		.header = { .kind = JVMTI_CMLR_INLINE_INFO }, .numpcs = 1, .pcinfo = &range
	};

	callbacks.CompiledMethodLoad(&env, methods[1], 64, at, 0, NULL, &inlined);
	__atomic_fetch_add(&nr_events, 1, __ATOMIC_RELAXED);
}

static jvmtiError JNICALL generate(jvmtiEnv *e, jvmtiEvent event)
{
	if (event == JVMTI_EVENT_DYNAMIC_CODE_GENERATED)
		callbacks.DynamicCodeGenerated(&env, "a stub", (void *)0x7e0000000000, 32);
	else
		for (long i = 0; i < 100; i++)
			report(i);
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL dispose(jvmtiEnv *e)
{
	nr_envs--;
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL thread_info(jvmtiEnv *e, jthread t, jvmtiThreadInfo *out)
{
	return give_text(&out->name, "thread-%ld", (long)t);
}

static struct jvmtiInterface_1_ jvmti = {
	.AddCapabilities = add_capabilities,
	.SetEventCallbacks = set_callbacks,
	.SetEventNotificationMode = set_mode,
	.GenerateEvents = generate,
	.GetMethodName = method_name,
	.GetMethodDeclaringClass = declaring_class,
	.GetClassSignature = class_signature,
	.GetThreadInfo = thread_info,
	.Deallocate = deallocate,
	.DisposeEnvironment = dispose,
};
static jvmtiEnv env = &jvmti;

static jint JNICALL get_env(JavaVM *vm, void **out, jint version)
{
	check(version == JVMTI_VERSION_1_2, "JVMTI 1.2 is asked for");
	nr_envs++;
	*out = &env;
	return JNI_OK;
}

/* The agent's buffer, a descriptor of this process; NULL if there is none. */
static struct wire_header *find_ring(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct wire_header *found = NULL;

	for (struct dirent *e; (e = readdir(dir));) {
		char link[128] = "";
		if (readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1) > 0 &&
		    strstr(link, WIRE_NAME_PREFIX NONCE))
			found = mmap(NULL, WIRE_HEADER_BYTES + WIRE_RING_BYTES,
				     PROT_READ | PROT_WRITE, MAP_SHARED, atoi(e->d_name), 0);
	}
	closedir(dir);
	return found;
}

/* Counts the loads in the ring; the ring must be unread. */
static unsigned count_loads(const struct wire_header *h)
{
	const uint8_t *at = (const uint8_t *)h + WIRE_HEADER_BYTES, *end = at + h->head;
	unsigned nr = 0;

	while (at < end) {
		unsigned len = 0, shift = 0;
		nr += *at++ == WIRE_LOAD;
		do {
			len |= (*at & 0x7fu) << shift;
			shift += 7;
		} while (*at++ & 0x80);
		at += len;
	}
	check(at == end, "the records fill what is published");
	return nr;
}

static __thread int of_this_thread = 7; /* belongs to the libc; the agent must not change it */

static void *report_many(void *arg)
{
	long nr = (long)arg;
	jmp_buf here; /* uses data that the libc keeps per thread, such as glibc's pointer guard */

	errno = 4711;
	if (setjmp(here) == 0) {
		callbacks.ThreadStart(&env, NULL, (jthread)7);
		for (long i = 0; i < nr; i++)
			report(i);
		longjmp(here, 1);
	}
	check(errno == 4711 && of_this_thread == 7, "the thread's variables are as before");
	return NULL;
}

static void command(on_attach_fn on_attach, const char *options)
{
	static const struct JNIInvokeInterface_ functions = { .GetEnv = get_env };
	static JavaVM vm = &functions;
	char text[128];

	snprintf(text, sizeof(text), "v=1;%s", options);
	check(on_attach(&vm, text, NULL) == JNI_OK, "a command is obeyed");
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double run_threads(long events)
{
	double start = seconds();
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		check(!pthread_create(&threads[i], NULL, report_many, (void *)(events / THREADS)),
		      "a thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return seconds() - start;
}

/* After a failed load the JVM would unload the agent, with an environment left behind. */
static int be_refused(on_attach_fn on_attach)
{
	refusal = JVMTI_ERROR_NOT_AVAILABLE;
	command(on_attach, "cmd=start;nonce=" NONCE);
	struct wire_header *h = find_ring();
	check(h && h->state == WIRE_FAILED && h->error == (int)refusal, "the refusal is reported");
	check(!nr_envs, "no environment stays behind");
	return 0;
}

int main(int argc, char **argv)
{
	void *so = argc >= 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
	on_attach_fn on_attach = so ? (on_attach_fn)dlsym(so, "Agent_OnAttach") : NULL;

	check(on_attach != NULL, "the agent is loaded");
	if (argc > 3)
		return be_refused(on_attach);
	command(on_attach, "cmd=start;nonce=" NONCE ";inline=1");
	struct wire_header *h = find_ring();
	check(h && h != MAP_FAILED && h->state == WIRE_LIVE, "the session is live");
	check(is_on[JVMTI_EVENT_COMPILED_METHOD_LOAD] && is_on[JVMTI_EVENT_THREAD_START],
	      "events are on");
	check(count_loads(h) == 100 && !h->lost, "what stands is reported");

	double took = run_threads(atol(argv[2]));
	command(on_attach, "cmd=replay;nonce=" NONCE);
	check(memmem((char *)h + WIRE_HEADER_BYTES, h->head, "Lpkg/Class0;", 12) != NULL,
	      "names are reported");
	printf("%u events, %.2f million a second: %u in the ring, %lu lost\n", nr_events,
	       1e-6 * atof(argv[2]) / took, count_loads(h), (unsigned long)h->lost);
	check(h->head <= WIRE_RING_BYTES, "nothing is written over what was not read");
	check(h->lost + count_loads(h) >= nr_events, "what is not in the ring is counted");

	command(on_attach, "cmd=stop;nonce=all");
	check(h->state == WIRE_STOPPED && !find_ring(), "the session has ended");
	check(!is_on[JVMTI_EVENT_COMPILED_METHOD_LOAD] && !is_on[JVMTI_EVENT_THREAD_START],
	      "events are off");
	check(nr_envs == 1 && !nr_texts, "one environment, and no name is leaked");
	return 0;
}
