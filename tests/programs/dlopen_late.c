/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fomit-frame-pointer -fno-inline */
/* Waits for the library that the argument names, loads it, and spins in it. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

static volatile unsigned long sink;

static void before(void)
{
	for (int i = 0; i < 100000; i++)
		sink += (unsigned long)i;
}

int main(int argc, char **argv)
{
	puts("ready");
	fflush(stdout);
	while (argc > 1 && access(argv[1], R_OK))
		before();

	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*loaded)(void) = library ? (void (*)(void))dlsym(library, "loaded") : NULL;
	for (; loaded;)
		loaded();
	return 1;
}
