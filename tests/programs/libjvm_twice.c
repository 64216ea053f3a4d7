/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps the libjvm.so named by LIBJVM_TWICE a second time in its own JVM. As LD_PRELOAD it maps the
 * whole file before ld.so loads the JVM's, which then lies below it. As an agent it maps the file
 * below the JVM's. The option `read` maps it as a file, `exec` as executable. `load` has ld.so load
 * it as a second JVM that never starts.
 */
/* BUILD-FLAGS: -shared -fPIC -ldl */
#include <dlfcn.h>
#include <fcntl.h>
#include <jvmti.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map_file(int prot)
{
	const char *path = getenv("LIBJVM_TWICE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -1;
	void *at = mmap(NULL, (size_t)st.st_size, prot, MAP_PRIVATE, fd, 0);
	close(fd);
	return at == MAP_FAILED ? -1 : 0;
}

static void __attribute__((constructor)) map_above(void)
{
	if (getenv("LD_PRELOAD"))
		map_file(PROT_READ);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	if (!strcmp(options, "load"))
		return dlmopen(LM_ID_NEWLM, getenv("LIBJVM_TWICE"), RTLD_NOW) ? JNI_OK : JNI_ERR;
	return map_file(!strcmp(options, "exec") ? PROT_READ | PROT_EXEC : PROT_READ) ? JNI_ERR
										      : JNI_OK;
}
