/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -ldl */
/* Has libjvm.so mapped but runs no VM: SIGQUIT would kill it. usage: maps_libjvm PATH */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc != 2 || !dlopen(argv[1], RTLD_NOW)) {
		fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: maps_libjvm PATH");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
