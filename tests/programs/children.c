/* SPDX-License-Identifier: Apache-2.0 */
/* Children that each, half a second old, take and free 20 times 1 MiB. usage: children NUMBER */
/* BUILD-FLAGS: -O0 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void child(void)
{
	usleep(500000);
	for (int i = 0; i < 20; i++) {
		char *taken = malloc(1 << 20);
		memset(taken, 1, 1 << 20);
		usleep(50000);
		free(taken);
	}
}

int main(int argc, char **argv)
{
	for (int n = argc > 1 ? atoi(argv[1]) : 1; n > 0; n--) {
		pid_t pid = fork();
		if (!pid) {
			child();
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
