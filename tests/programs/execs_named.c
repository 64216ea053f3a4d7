/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fno-inline -fomit-frame-pointer */
/*
 * Children execute ./before for SECONDS, which works and then executes ./after, which works, too.
 * Both are links to this program. usage: execs_named SECONDS
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void spin(void)
{
	for (volatile int i = 0; i < 1000000; i++)
		;
}

static void work_before(void)
{
	spin();
	__asm__ volatile("");
}

static void work_after(void)
{
	spin();
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	int status = 0;

	if (!strcmp(argv[0], "before")) {
		work_before();
		execl("./after", "after", NULL);
		return 1;
	}
	if (!strcmp(argv[0], "after")) {
		work_after();
		return 0;
	}
	if (argc < 2)
		return 2;
	for (time_t end = time(NULL) + atoi(argv[1]); !status && time(NULL) < end;) {
		pid_t child = fork();
		if (!child) {
			execl("./before", "before", NULL);
			_exit(1);
		}
		waitpid(child, &status, 0);
	}
	return status != 0;
}
