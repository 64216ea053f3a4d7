/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -static */
/* A program without shared libraries: it maps nothing after its exec. It calls reached() for 60 s.
 */
#include <time.h>

__attribute__((noinline)) static void reached(void)
{
	for (volatile int i = 0; i < 100000; i++)
		;
}

int main(void)
{
	for (time_t end = time(NULL) + 60; time(NULL) < end;)
		reached();
	return 0;
}
