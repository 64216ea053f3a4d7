/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of Java methods. Retransformation inserts calls of a class of ours into each method
 * (classfile.h). Its native methods' code is the hooks. It is in java.lang, the only package that
 * every class loader finds and every module reads.
 */
#include "jvmmap/methods.h"

#include "jvmmap/classfile.h"
#include "jvmmap/hooks.h"
#include "jvmmap/running.h"
#include "jvmmap/sys.h"

HOOK(jvmmap_hook_method);
HOOK(jvmmap_hook_lasted);

/*
 * The JVM finds the native methods in its agents by these names. RegisterNatives would also work,
 * but the JVM warns if it is used for classes of the JDK.
 */
#define NATIVE_NAME(method) "Java_java_lang_Sysflame" WIRE_TEXT(WIRE_ABI) "_" method
#define NATIVE(method, hook) \
	__asm__(".globl " NATIVE_NAME(method) "\n\t.set " NATIVE_NAME(method) ", " #hook "\n")
NATIVE("entered", jvmmap_hook_method);
NATIVE("lasted", jvmmap_hook_lasted);

#define METHODS    WIRE_METHODS
#define PLACES     (2 * METHODS)
#define BATCH      RUNNING_CLASSES /* most classes that change at once */
#define LOCAL_REFS 16
#define HOOK_CLASS WIRE_METHOD_CLASS WIRE_TEXT(WIRE_ABI)

/* "a/B.run" is in text; [0, class_len) is the class. */
struct wanted {
	char text[WIRE_METHODS_MAX];
	size_t class_len, len;
	uint64_t min_ns; /* only calls that last so long, when they end; 0: all, when they begin */
	int is_loaded, is_hooked;
	int is_running; /* not hooked, because a loop is running in its class */
	int is_kept;    /* the class of the method must not change for now */
};

struct methods {
	jvmtiEnv *env;
	struct wanted now[PLACES], next[PLACES];
	int nr_now, nr_next;
	int has_class;                  /* the hook's class exists */
	int is_unclear;                 /* some classes could not be changed: all are tried again */
	char running[WIRE_RUNNING_MAX]; /* a method whose running loop prevented a change of its
					   class */
};

static struct methods methods;

static int is_same(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t i = 0;

	while (i < a_len && i < b_len && a[i] == b[i])
		i++;
	return i == a_len && i == b_len;
}

static int is_same_method(const struct wanted *a, const struct wanted *b)
{
	return a->min_ns == b->min_ns && is_same(a->text, a->len, b->text, b->len);
}

static struct wanted *find(struct wanted *list, int nr, const struct wanted *w)
{
	for (int i = 0; i < nr; i++)
		if (is_same_method(&list[i], w))
			return &list[i];
	return NULL;
}

/* Takes the minimum off the end of "a/B.run:50000000". */
static uint64_t take_minimum(const char *text, size_t *len)
{
	uint64_t minimum = 0;
	size_t at = 0;

	while (at < *len && text[at] != ':')
		at++;
	for (size_t i = at + 1; i < *len && text[i] >= '0' && text[i] <= '9'; i++)
		minimum = minimum * 10 + (uint64_t)(text[i] - '0');
	*len = at;
	/* A duration in Java is signed. */
	return minimum & INT64_MAX;
}

/* Returns whether it is a method. */
static int read_wanted(const char *text, size_t len, struct wanted *out)
{
	uint64_t min_ns = take_minimum(text, &len);
	size_t class_len = len;

	while (class_len && text[class_len - 1] != '.')
		class_len--;
	if (class_len < 2 || class_len == len)
		return 0;
	*out = (struct wanted){ .min_ns = min_ns, .class_len = class_len - 1, .len = len };
	memcpy(out->text, text, len);
	return 1;
}

static void add_wanted(const char *text, size_t len)
{
	struct wanted w;

	if (methods.nr_next < METHODS && read_wanted(text, len, &w) &&
	    !find(methods.next, methods.nr_next, &w))
		methods.next[methods.nr_next++] = w;
}

int methods_settle(struct session *const sessions[], int nr, uint64_t now_ns)
{
	methods.nr_next = 0;
	for (int i = 0; i < nr; i++) {
		int is_wanted = sessions[i] && session_is_wanted(sessions[i], now_ns);
		const char *at = is_wanted ? sessions[i]->calls : "";
		while (*at) {
			size_t len = 0;
			while (at[len] && at[len] != ',')
				len++;
			add_wanted(at, len);
			at += len + (at[len] == ',');
		}
	}
	return methods.nr_now + methods.nr_next > 0;
}

int methods_are_current(void)
{
	for (int i = 0; i < methods.nr_now; i++)
		if (!find(methods.next, methods.nr_next, &methods.now[i]))
			return 0;
	return methods.nr_now == methods.nr_next;
}

int methods_are_changed(void)
{
	for (int i = 0; i < methods.nr_now; i++)
		if (methods.now[i].is_hooked)
			return 1;
	return 0;
}

/* Whether the classes are already in the wanted state. Missing ones are tried again. */
static int is_done(void)
{
	if (methods.is_unclear)
		return 0;
	for (int i = 0; i < methods.nr_now; i++)
		if (!methods.now[i].is_hooked)
			return 0;
	return methods_are_current();
}

/* Classes that must stay changed for now also occupy entries. */
static int has_places(void)
{
	int nr = methods.nr_next;

	for (int i = 0; i < methods.nr_now; i++)
		nr += !find(methods.next, methods.nr_next, &methods.now[i]);
	return nr <= PLACES;
}

/* Another agent of the same version may have made the class already. */
static jvmtiError make_class(JNIEnv *jni)
{
	uint8_t bytes[CLASS_BYTES];

	if (methods.has_class)
		return JVMTI_ERROR_NONE;
	size_t len = class_of_hook(HOOK_CLASS, bytes);
	if (!(*jni)->DefineClass(jni, NULL, NULL, (const jbyte *)bytes, (jsize)len)) {
		(*jni)->ExceptionClear(jni);
		if (!(*jni)->FindClass(jni, HOOK_CLASS)) {
			(*jni)->ExceptionClear(jni);
			return JVMTI_ERROR_INTERNAL;
		}
	}
	methods.has_class = 1;
	return JVMTI_ERROR_NONE;
}

static size_t length(const char *text)
{
	size_t len = 0;

	while (text[len])
		len++;
	return len;
}

static uint32_t event_of(const struct wanted *w)
{
	return w->min_ns ? CLASS_LASTED : CLASS_ENTERED;
}

static const char *name_of(const struct wanted *w, size_t *len)
{
	*len = w->len - w->class_len - 1;
	return w->text + w->class_len + 1;
}

/* The entry for the method of that name, or NULL. */
static struct class_method *entry_of(struct class_method *list, int nr, const struct wanted *w)
{
	size_t len;
	const char *name = name_of(w, &len);

	for (int i = 0; i < nr; i++)
		if (is_same(list[i].name, list[i].len, name, len))
			return &list[i];
	return NULL;
}

/* One entry has all that is wanted of a method. Of several minima it has the least. */
static void add_event(struct class_method *m, const struct wanted *w)
{
	m->name = name_of(w, &m->len);
	m->number = wire_method_number(w->text, w->len);
	m->wants |= event_of(w);
	if (w->min_ns && (!m->min_ns || w->min_ns < m->min_ns))
		m->min_ns = w->min_ns;
}

/*
 * Collects the methods to hook in the class named "a/B". If the class must not change now, these
 * are the methods hooked already: another agent may retransform it meanwhile.
 */
static int methods_of(const char *class, size_t len, struct class_method out[PLACES])
{
	int nr = 0;

	for (int i = 0; i < methods.nr_next; i++) {
		struct wanted *w = &methods.next[i];
		if (!is_same(w->text, w->class_len, class, len) || (w->is_kept && !w->is_hooked))
			continue;
		struct class_method *m = entry_of(out, nr, w);
		if (!m) {
			m = &out[nr++];
			*m = (struct class_method){ 0 };
		}
		add_event(m, w);
	}
	return nr;
}

static void note_hooked(const char *class, size_t len, const struct class_hook *hook)
{
	for (int i = 0; i < methods.nr_next; i++) {
		struct wanted *w = &methods.next[i];
		const struct class_method *m = is_same(w->text, w->class_len, class, len)
						       ? entry_of(hook->methods, hook->nr, w)
						       : NULL;
		if (m && !(w->is_kept && !w->is_hooked))
			w->is_hooked |= (m->hooked & event_of(w)) != 0;
	}
}

/* NULL if the class cannot be changed. */
static unsigned char *change(jvmtiEnv *env, const uint8_t *file, size_t len,
			     struct class_hook *hook, size_t *out_len)
{
	unsigned char *work = NULL, *out = NULL;

	*out_len = 0;
	(*env)->Allocate(env, (jlong)(4 * class_work(file, len) + 4), &work);
	if (work)
		*out_len = class_hook(file, len, hook, (uint32_t *)work, NULL, 0);
	if (*out_len)
		(*env)->Allocate(env, (jlong)*out_len, &out);
	if (out)
		class_hook(file, len, hook, (uint32_t *)work, out, *out_len);
	(*env)->Deallocate(env, work);
	return out;
}

/* Called for retransformed classes. Other threads load classes meanwhile and also call it. */
static void JNICALL on_class(jvmtiEnv *env, JNIEnv *jni, jclass redefined, jobject loader,
			     const char *name, jobject domain, jint len, const unsigned char *file,
			     jint *new_len, unsigned char **new_file)
{
	struct class_method wanted[PLACES];
	struct class_hook hook = { .class = HOOK_CLASS, .methods = wanted };
	size_t out_len;

	if (!redefined || !name || len < 0)
		return;
	hook.nr = methods_of(name, length(name), wanted);
	if (!hook.nr)
		return;
	unsigned char *out = change(env, file, (size_t)len, &hook, &out_len);
	if (!out)
		return;
	note_hooked(name, length(name), &hook);
	*new_len = (jint)out_len;
	*new_file = out;
}

static jvmtiError make_env(JavaVM *vm)
{
	static const jvmtiEventCallbacks callbacks = { .ClassFileLoadHook = on_class };
	static const jvmtiCapabilities wanted = {
		.can_retransform_classes = 1,
		.can_get_bytecodes = 1,
	};
	jvmtiEnv *env = NULL;

	if (methods.env)
		return JVMTI_ERROR_NONE;
	if ((*vm)->GetEnv(vm, (void **)&env, JVMTI_VERSION_1_2) != JNI_OK || !env)
		return JVMTI_ERROR_INVALID_ENVIRONMENT;
	jvmtiError err = (*env)->AddCapabilities(env, &wanted);
	if (!err)
		err = (*env)->SetEventCallbacks(env, &callbacks, sizeof(callbacks));
	if (err)
		(*env)->DisposeEnvironment(env);
	else
		methods.env = env;
	return err;
}

static void note_loaded(const char *class, size_t len)
{
	for (int i = 0; i < methods.nr_next; i++)
		if (is_same(methods.next[i].text, methods.next[i].class_len, class, len))
			methods.next[i].is_loaded = 1;
}

/* Whether classes of that name already are as wanted, or are not named by any session. */
static int is_settled(const char *class, size_t len)
{
	for (int i = 0; i < methods.nr_now; i++) {
		const struct wanted *w = &methods.now[i];
		if (is_same(w->text, w->class_len, class, len) &&
		    (methods.is_unclear || !w->is_hooked ||
		     !find(methods.next, methods.nr_next, w)))
			return 0;
	}
	for (int i = 0; i < methods.nr_next; i++) {
		const struct wanted *w = &methods.next[i];
		if (is_same(w->text, w->class_len, class, len) &&
		    !find(methods.now, methods.nr_now, w))
			return 0;
	}
	return 1;
}

/* The methods of settled classes stay hooked. */
static void note_settled(void)
{
	for (int i = 0; i < methods.nr_next; i++) {
		struct wanted *w = &methods.next[i];
		w->is_loaded = w->is_hooked = is_settled(w->text, w->class_len);
	}
}

/* Whether the class must change: it has other hooks than wanted. */
static int is_affected(jvmtiEnv *env, jclass class)
{
	char *name = NULL;
	jboolean can_change = 0;
	int must_change = 0;

	if ((*env)->GetClassSignature(env, class, &name, NULL) || !name)
		return 0;
	size_t len = length(name); /* Lname; */
	if (name[0] == 'L' && len > 2) {
		note_loaded(name + 1, len - 2);
		must_change = !is_settled(name + 1, len - 2);
	}
	(*env)->Deallocate(env, (unsigned char *)name);
	return must_change && !(*env)->IsModifiableClass(env, class, &can_change) && can_change;
}

/* The JVM cannot enable this event for a single thread. */
static jvmtiError retransform(jint nr, const jclass *classes)
{
	jvmtiEnv *env = methods.env;

	jvmtiError err = (*env)->SetEventNotificationMode(env, JVMTI_ENABLE,
							  JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, NULL);
	if (!err)
		err = (*env)->RetransformClasses(env, nr, classes);
	(*env)->SetEventNotificationMode(env, JVMTI_DISABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
					 NULL);
	return err;
}

/* Leaves the class unchanged: hooked methods stay hooked, others count as running a loop. */
static void keep(const char *class, size_t len)
{
	for (int i = 0; i < methods.nr_next; i++) {
		struct wanted *w = &methods.next[i];
		if (!is_same(w->text, w->class_len, class, len))
			continue;
		const struct wanted *now = find(methods.now, methods.nr_now, w);
		w->is_kept = 1;
		w->is_hooked = now && now->is_hooked;
		w->is_running = !w->is_hooked;
	}
	for (int i = 0; i < methods.nr_now; i++) {
		const struct wanted *w = &methods.now[i];
		if (!is_same(w->text, w->class_len, class, len) ||
		    find(methods.next, methods.nr_next, w))
			continue;
		methods.next[methods.nr_next] = *w;
		methods.next[methods.nr_next++].is_kept = 1;
	}
}

/* Puts "a/B.run" into `running`. */
static void note_running(jvmtiEnv *env, jmethodID method)
{
	char *class = NULL, *name = NULL;
	jclass holder = NULL;
	size_t len = 0;

	if ((*env)->GetMethodDeclaringClass(env, method, &holder) ||
	    (*env)->GetClassSignature(env, holder, &class, NULL) ||
	    (*env)->GetMethodName(env, method, &name, NULL, NULL))
		(*env)->Deallocate(env, (unsigned char *)class);
	else {
		for (const char *c = class + 1; *c && *c != ';' && len < WIRE_RUNNING_MAX - 2; c++)
			methods.running[len++] = *c;
		methods.running[len++] = '.';
		for (const char *c = name; *c && len < WIRE_RUNNING_MAX - 1; c++)
			methods.running[len++] = *c;
		(*env)->Deallocate(env, (unsigned char *)class);
		(*env)->Deallocate(env, (unsigned char *)name);
	}
	methods.running[len] = '\0';
}

/*
 * Calls keep() for the class. With is_question, only returns whether keep() has been called for a
 * class of that name.
 */
static int keep_class(jvmtiEnv *env, jclass class, int is_question)
{
	char *name = NULL;
	int is_kept = 0;

	if ((*env)->GetClassSignature(env, class, &name, NULL) || !name)
		return 1;
	size_t len = length(name) - 2; /* Lname; */
	if (!is_question)
		keep(name + 1, len);
	for (int i = 0; i < methods.nr_next; i++)
		is_kept |= methods.next[i].is_kept &&
			   is_same(methods.next[i].text, methods.next[i].class_len, name + 1, len);
	(*env)->Deallocate(env, (unsigned char *)name);
	return is_kept;
}

/* Of `nr` classes, at most BATCH: calls keep() for each that has a running loop. */
static jvmtiError keep_running(const jclass *classes, jint nr)
{
	jvmtiEnv *env = methods.env;
	struct running running;

	jvmtiError err = running_find(env, classes, nr, &running);
	if (err)
		return err;
	if (running.method)
		note_running(env, running.method);
	for (jint i = 0; i < nr; i++)
		if (running.is_busy[i])
			keep_class(env, classes[i], 0);
	return JVMTI_ERROR_NONE;
}

/*
 * Removes the classes that have a running loop from the array, and the classes of the same names in
 * other loaders. Sets *nr to the number of classes that are left.
 */
static jvmtiError leave_out_running(jclass *classes, jint *nr)
{
	jvmtiError err = JVMTI_ERROR_NONE;
	jint nr_left = 0;

	for (jint i = 0; i < *nr && !err; i += BATCH)
		err = keep_running(classes + i, *nr - i < BATCH ? *nr - i : BATCH);
	for (jint i = 0; i < *nr && !err; i++)
		if (!keep_class(methods.env, classes[i], 1))
			classes[nr_left++] = classes[i];
	*nr = nr_left;
	return err;
}

/* Changes all batches, also after one has failed. Returns the first error. */
static jvmtiError retransform_all(const jclass *classes, jint nr)
{
	jvmtiError first = JVMTI_ERROR_NONE;

	for (jint i = 0; i < nr; i += BATCH) {
		jvmtiError err = retransform(nr - i < BATCH ? nr - i : BATCH, classes + i);
		if (!first)
			first = err;
	}
	return first;
}

/* Changes the classes that need it. Several class loaders may have a class of the same name. */
static jvmtiError change_classes(void)
{
	jvmtiEnv *env = methods.env;
	jclass *all = NULL;
	jint nr_all = 0, nr = 0;

	note_settled();
	jvmtiError err = (*env)->GetLoadedClasses(env, &nr_all, &all);
	for (jint i = 0; !err && i < nr_all; i++)
		if (is_affected(env, all[i]))
			all[nr++] = all[i];
	if (!err)
		err = leave_out_running(all, &nr);
	if (!err)
		err = retransform_all(all, nr);
	(*env)->Deallocate(env, (unsigned char *)all);
	return err;
}

/*
 * After an error, a class may have hooks of `now` or of `next`. `now` gets those of both, so that
 * all are removed in the end.
 */
static void join_lists(void)
{
	int nr = methods.nr_next;

	for (int i = 0; i < nr; i++) {
		const struct wanted *now = find(methods.now, methods.nr_now, &methods.next[i]);
		methods.next[i].is_hooked |= now && now->is_hooked;
	}
	for (int i = 0; i < methods.nr_now; i++)
		if (!find(methods.next, nr, &methods.now[i]))
			methods.next[methods.nr_next++] = methods.now[i];
	methods.nr_now = 0;
	for (int i = 0; i < methods.nr_next; i++)
		if (methods.next[i].is_hooked)
			methods.now[methods.nr_now++] = methods.next[i];
}

jvmtiError methods_apply(JavaVM *vm)
{
	JNIEnv *jni = NULL;

	if (is_done())
		return JVMTI_ERROR_NONE;
	if (!has_places())
		return JVMTI_ERROR_OUT_OF_MEMORY;
	if ((*vm)->GetEnv(vm, (void **)&jni, JNI_VERSION_1_6) != JNI_OK)
		return JVMTI_ERROR_UNATTACHED_THREAD;
	jvmtiError err = make_env(vm);
	if (err)
		return err;
	/* This frame also frees the references to all loaded classes. */
	if ((*jni)->PushLocalFrame(jni, LOCAL_REFS))
		return JVMTI_ERROR_OUT_OF_MEMORY;
	err = make_class(jni);
	if (!err)
		err = change_classes();
	(*jni)->PopLocalFrame(jni, NULL);
	methods.is_unclear = err != JVMTI_ERROR_NONE;
	if (err) {
		join_lists();
		return err;
	}
	memcpy(methods.now, methods.next, sizeof(methods.now));
	methods.nr_now = methods.nr_next;
	return JVMTI_ERROR_NONE;
}

jvmtiError methods_state(const char *text, size_t len)
{
	struct wanted w;
	const struct wanted *now =
		read_wanted(text, len, &w) ? find(methods.now, methods.nr_now, &w) : NULL;

	/* There was no free entry for this method. */
	if (!now)
		return JVMTI_ERROR_OUT_OF_MEMORY;
	if (!now->is_loaded)
		return JVMTI_ERROR_INVALID_CLASS;
	if (now->is_running)
		return (jvmtiError)WIRE_ERROR_RUNNING;
	return now->is_hooked ? JVMTI_ERROR_NONE : JVMTI_ERROR_INVALID_METHODID;
}

const char *methods_running(void)
{
	return methods.running;
}
