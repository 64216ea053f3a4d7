/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -ldl */
/*
 * Maps libjvm.so but runs no JVM: SIGQUIT would kill it. With an ANSWER it acts as an attach
 * listener that sends this answer to every request and closes the connection. With `hold` it keeps
 * the connection open. A thread uses some CPU time, to be sampled.
 * usage: maps_libjvm PATH [ANSWER [hold]]
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void *work(void *arg)
{
	for (;;) {
		for (volatile int i = 0; i < 3000000; i++)
			;
		usleep(20000);
	}
	return arg;
}

static void listen_for_attaches(const char *answer, int holds)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	char request[4096];
	pthread_t thread;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "/tmp/.java_pid%d", getpid());
	unlink(addr.sun_path);
	if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) || listen(listener, 5) ||
	    pthread_create(&thread, NULL, work, NULL))
		return;
	puts("ready");
	fflush(stdout);
	for (int fd; (fd = accept(listener, NULL, NULL)) >= 0;) {
		ssize_t got = read(fd, request, sizeof(request));
		puts("asked");
		fflush(stdout);
		ssize_t put = got > 0 ? write(fd, answer, strlen(answer)) : 0;
		if (put < 0 || !holds)
			close(fd);
	}
}

int main(int argc, char **argv)
{
	if (argc < 2 || !dlopen(argv[1], RTLD_NOW)) {
		fprintf(stderr, "%s\n",
			argc > 1 ? dlerror() : "usage: maps_libjvm PATH [ANSWER [hold]]");
		return 1;
	}
	if (argc > 2) {
		listen_for_attaches(argv[2], argc > 3);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
