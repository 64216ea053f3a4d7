/* SPDX-License-Identifier: Apache-2.0 */
/* Maps executable memory 400 times a second for 60 s, as a machine that compiles does. */
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	for (time_t end = time(NULL) + 60; time(NULL) < end; usleep(2500)) {
		void *at =
			mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED || munmap(at, 4096))
			return 1;
	}
	return 0;
}
