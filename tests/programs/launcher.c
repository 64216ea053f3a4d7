/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -ldl */
/*
 * Runs Java with a launcher of its own, as jsvc and application servers do: the options come from a
 * file, not from the command line. With the fourth word it takes SIGQUIT once the VM runs: with a
 * handler that ends the program, by default, or to ignore it.
 * usage: launcher LIBJVM OPTIONS-FILE CLASS [own|default|ignored]
 */
#include <dlfcn.h>
#include <jni.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS_MAX 16

typedef jint (*create_vm_fn)(JavaVM **vm, void **env, void *args);

static char lines[OPTIONS_MAX][4096];
static char **words;

static int read_options(const char *path, JavaVMOption *options)
{
	FILE *f = fopen(path, "r");
	int nr = 0;

	while (f && nr < OPTIONS_MAX && fgets(lines[nr], sizeof(lines[nr]), f)) {
		lines[nr][strcspn(lines[nr], "\n")] = '\0';
		options[nr].optionString = lines[nr];
		nr++;
	}
	if (f)
		fclose(f);
	return nr;
}

static void end(int number)
{
	_exit(number);
}

static void take_signal(const char *how)
{
	if (how)
		signal(SIGQUIT, !strcmp(how, "own")       ? end
				: !strcmp(how, "default") ? SIG_DFL
							  : SIG_IGN);
}

/* Runs in a thread of its own, because the JVM does not accept the main thread's stack. */
static void *run(void *ctx)
{
	JavaVMOption options[OPTIONS_MAX] = { 0 };
	JavaVMInitArgs args = { .version = JNI_VERSION_1_6, .options = options };
	JavaVM *vm;
	JNIEnv *env;
	void *library = dlopen(words[1], RTLD_NOW);
	create_vm_fn create = library ? (create_vm_fn)dlsym(library, "JNI_CreateJavaVM") : NULL;

	args.nOptions = read_options(words[2], options);
	if (!create || create(&vm, (void **)&env, &args))
		return NULL;
	take_signal(words[4]);
	jclass class = (*env)->FindClass(env, words[3]);
	jmethodID main =
		class ? (*env)->GetStaticMethodID(env, class, "main", "([Ljava/lang/String;)V")
		      : NULL;
	jclass string = (*env)->FindClass(env, "java/lang/String");
	if (main)
		(*env)->CallStaticVoidMethod(env, class, main,
					     (*env)->NewObjectArray(env, 0, string, NULL));
	(*env)->ExceptionDescribe(env);
	return ctx;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	words = argv;
	if (argc < 4 || pthread_create(&thread, NULL, run, NULL))
		return 1;
	pthread_join(thread, NULL);
	return 1;
}
