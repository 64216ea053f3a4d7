/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fomit-frame-pointer -fno-inline */
/* Spends its time in a signal handler on top of interrupted(). */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile unsigned long sink;

static void handler(int signal)
{
	for (;;)
		sink += (unsigned long)signal;
}

static void interrupted(void)
{
	for (;;)
		sink++;
}

int main(void)
{
	signal(SIGALRM, handler);
	alarm(1);
	puts("ready");
	fflush(stdout);
	interrupted();
}
