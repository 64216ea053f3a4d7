/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent that hides HotSpot's tables until the file in its option exists.
 * usage: -agentpath:hides_tables=FILE
 */
/* BUILD-FLAGS: -shared -fPIC -ldl */
#include <dlfcn.h>
#include <jvmti.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void **tables, *hidden;

static void *show_again(void *path)
{
	while (access(path, F_OK))
		usleep(50000);
	*tables = hidden;
	free(path);
	return NULL;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	Dl_info libjvm;
	pthread_t thread;

	if (!dladdr((void *)(*vm)->GetEnv, &libjvm))
		return JNI_ERR;
	void *library = dlopen(libjvm.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	tables = library ? dlsym(library, "gHotSpotVMStructs") : NULL;
	if (!tables)
		return JNI_ERR;
	hidden = *tables;
	*tables = NULL;
	return pthread_create(&thread, NULL, show_again, strdup(options)) ? JNI_ERR : JNI_OK;
}
