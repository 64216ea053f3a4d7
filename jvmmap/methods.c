/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of Java methods. Retransformation inserts a call of a native method at the beginning of
 * each method; the native method's code is the hook. Its class is in java.lang, the only package
 * that every class loader finds and every module reads.
 */
#include "jvmmap/methods.h"

#include "jvmmap/classfile.h"
#include "jvmmap/hook.h"
#include "jvmmap/sys.h"

HOOK(jvmmap_hook_method);

/*
 * The JVM finds the native method in its agents by this name. RegisterNatives would also work, but
 * the JVM warns if it is used for classes of the JDK.
 */
#define NATIVE_NAME "Java_java_lang_Sysflame" WIRE_TEXT(WIRE_ABI) "_entered"
__asm__(".globl " NATIVE_NAME "\n\t.set " NATIVE_NAME ", jvmmap_hook_method\n");

#define METHODS    16
#define CLASSES    64 /* in total, including classes of the same name from several loaders */
#define LOCAL_REFS 16
#define HOOK_CLASS WIRE_METHOD_CLASS WIRE_TEXT(WIRE_ABI)

/* "a/B.run" is in text; [0, class_len) is the class. */
struct wanted {
	char text[WIRE_METHODS_MAX];
	size_t class_len, len;
	int is_loaded, is_hooked;
};

struct methods {
	jvmtiEnv *env;
	struct wanted now[METHODS], next[METHODS];
	int nr_now, nr_next;
	int has_class; /* the hook's class exists */
};

static struct methods methods;

static int is_same(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t i = 0;

	while (i < a_len && i < b_len && a[i] == b[i])
		i++;
	return i == a_len && i == b_len;
}

static void add_wanted(const char *text, size_t len)
{
	size_t class_len = len;

	for (int i = 0; i < methods.nr_next; i++)
		if (is_same(methods.next[i].text, methods.next[i].len, text, len))
			return;
	while (class_len && text[class_len - 1] != '.')
		class_len--;
	if (class_len < 2 || class_len == len || methods.nr_next == METHODS)
		return;
	struct wanted *w = &methods.next[methods.nr_next++];
	*w = (struct wanted){ .class_len = class_len - 1, .len = len };
	memcpy(w->text, text, len);
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

/* Whether the classes are already in the wanted state. Missing ones are tried again. */
static int is_done(void)
{
	if (methods.nr_now != methods.nr_next)
		return 0;
	for (int i = 0; i < methods.nr_now; i++) {
		const struct wanted *a = &methods.now[i], *b = &methods.next[i];
		if (!a->is_hooked || !is_same(a->text, a->len, b->text, b->len))
			return 0;
	}
	return 1;
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

/* Collects the wanted methods of the class named "a/B". */
static int methods_of(const char *class, size_t len, struct class_method *out)
{
	int nr = 0;

	for (int i = 0; i < methods.nr_next; i++) {
		struct wanted *w = &methods.next[i];
		if (!is_same(w->text, w->class_len, class, len))
			continue;
		out[nr++] = (struct class_method){
			.name = w->text + w->class_len + 1,
			.len = w->len - w->class_len - 1,
			.number = wire_method_number(w->text, w->len),
		};
	}
	return nr;
}

static void note_hooked(const struct class_hook *hook)
{
	for (int i = 0; i < hook->nr; i++)
		for (int k = 0; k < methods.nr_next; k++)
			if (hook->methods[i].name ==
			    methods.next[k].text + methods.next[k].class_len + 1)
				methods.next[k].is_hooked |= hook->methods[i].nr_hooked > 0;
}

/* NULL if the class cannot be changed. */
static unsigned char *change(jvmtiEnv *env, const uint8_t *file, size_t len,
			     struct class_hook *hook, size_t *out_len)
{
	unsigned char *places = NULL, *out = NULL;

	*out_len = 0;
	(*env)->Allocate(env, (jlong)(4 * class_constants(file, len) + 4), &places);
	if (places)
		*out_len = class_hook(file, len, hook, (uint32_t *)places, NULL, 0);
	if (*out_len)
		(*env)->Allocate(env, (jlong)*out_len, &out);
	if (out)
		class_hook(file, len, hook, (uint32_t *)places, out, *out_len);
	(*env)->Deallocate(env, places);
	return out;
}

/* Called for retransformed classes. Other threads load classes meanwhile and also call it. */
static void JNICALL on_class(jvmtiEnv *env, JNIEnv *jni, jclass redefined, jobject loader,
			     const char *name, jobject domain, jint len, const unsigned char *file,
			     jint *new_len, unsigned char **new_file)
{
	struct class_method wanted[METHODS];
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
	note_hooked(&hook);
	*new_len = (jint)out_len;
	*new_file = out;
}

static jvmtiError make_env(JavaVM *vm)
{
	static const jvmtiEventCallbacks callbacks = { .ClassFileLoadHook = on_class };
	static const jvmtiCapabilities wanted = { .can_retransform_classes = 1 };
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

static int names_class(struct wanted *list, int nr, const char *name, size_t len)
{
	int found = 0;

	for (int i = 0; i < nr; i++) {
		if (!is_same(list[i].text, list[i].class_len, name, len))
			continue;
		list[i].is_loaded = 1;
		found = 1;
	}
	return found;
}

/* Whether the class is changed now or must be changed. */
static int is_affected(jvmtiEnv *env, jclass class)
{
	char *name = NULL;
	jboolean can_change = 0;
	int found = 0;

	if ((*env)->GetClassSignature(env, class, &name, NULL) || !name)
		return 0;
	size_t len = length(name); /* Lname; */
	if (name[0] == 'L' && len > 2) {
		found = names_class(methods.now, methods.nr_now, name + 1, len - 2);
		found |= names_class(methods.next, methods.nr_next, name + 1, len - 2);
	}
	(*env)->Deallocate(env, (unsigned char *)name);
	return found && !(*env)->IsModifiableClass(env, class, &can_change) && can_change;
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

static jvmtiError change_classes(void)
{
	jvmtiEnv *env = methods.env;
	jclass *all = NULL, affected[CLASSES];
	jint nr_all = 0, nr = 0;

	jvmtiError err = (*env)->GetLoadedClasses(env, &nr_all, &all);
	for (jint i = 0; !err && i < nr_all && nr < CLASSES; i++)
		if (is_affected(env, all[i]))
			affected[nr++] = all[i];
	if (!err && nr)
		err = retransform(nr, affected);
	(*env)->Deallocate(env, (unsigned char *)all);
	return err;
}

static jvmtiError what_is_missing(void)
{
	jvmtiError err = JVMTI_ERROR_NONE;

	for (int i = 0; i < methods.nr_next && !err; i++)
		err = !methods.next[i].is_loaded   ? JVMTI_ERROR_INVALID_CLASS
		      : !methods.next[i].is_hooked ? JVMTI_ERROR_INVALID_METHODID
						   : JVMTI_ERROR_NONE;
	return err;
}

jvmtiError methods_apply(JavaVM *vm)
{
	JNIEnv *jni = NULL;

	if (is_done())
		return JVMTI_ERROR_NONE;
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
	if (err)
		return err;
	memcpy(methods.now, methods.next, sizeof(methods.now));
	methods.nr_now = methods.nr_next;
	return what_is_missing();
}
