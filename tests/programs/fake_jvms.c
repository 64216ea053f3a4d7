/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -I. */
/*
 * N processes that look like JVMs: each maps FILE executable and listens where a JVM does. `mute`
 * ones never answer. `flood` ones answer like a JVM that has loaded the agent, and fill its buffer
 * with names and texts as fast as it is read. Prints the PIDs, then "ready".
 * usage: fake_jvms FILE N mute|flood
 */
#include <err.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jvmmap/wire.h"
#include "jvmmap/wire_records.h"

#define NAME_BYTES 4000

static const char loaded[] = "0\nreturn code: 0\n";

/* The ring twice in a row, as the agent maps it. */
static struct wire_header *make_ring(const char *nonce)
{
	char name[sizeof(WIRE_NAME_PREFIX) + WIRE_NONCE_LEN];

	snprintf(name, sizeof(name), WIRE_NAME_PREFIX "%.*s", WIRE_NONCE_LEN, nonce);
	int fd = memfd_create(name, MFD_ALLOW_SEALING);
	size_t size = WIRE_HEADER_BYTES + WIRE_RING_BYTES;
	char *at =
		mmap(NULL, size + WIRE_RING_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || ftruncate(fd, (off_t)size) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) ||
	    mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
	    mmap(at + size, WIRE_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 WIRE_HEADER_BYTES) == MAP_FAILED)
		exit(1);
	struct wire_header *h = (void *)at;
	*h = (struct wire_header){ .magic = WIRE_MAGIC,
				   .abi = WIRE_ABI,
				   .ring_bytes = WIRE_RING_BYTES,
				   .state = WIRE_LIVE };
	memcpy(h->nonce, nonce, WIRE_NONCE_LEN);
	return h;
}

static char *put_number(char *at, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		*at++ = (char)(number | 0x80);
	*at++ = (char)number;
	return at;
}

/* A class with a new name of NAME_BYTES, the name of a new thread, or a text for the next slot. */
static char *put_name(char *at, uint64_t number)
{
	static const enum wire_kind kinds[] = { WIRE_CLASS, WIRE_THREAD, WIRE_STRING };
	const enum wire_kind kind = kinds[number % 3];
	char body[NAME_BYTES + 16];
	char *end = put_number(body, kind == WIRE_STRING ? number / 3 % WIRE_STRING_SLOTS : number);
	size_t len = kind == WIRE_THREAD ? 900 : NAME_BYTES;

	memset(end, 'a', len);
	memcpy(end, "Lx", 2);
	snprintf(end + 2, 20, "%018llu", (unsigned long long)number);
	end[20] = 'b';
	end += len;
	*at++ = (char)kind;
	at = put_number(at, (uint64_t)(end - body));
	memcpy(at, body, (size_t)(end - body));
	return at + (end - body);
}

static void flood(struct wire_header *h, uint64_t *number)
{
	char *ring = (char *)h + WIRE_HEADER_BYTES;

	while (h->head + 2 * NAME_BYTES < h->tail + WIRE_RING_BYTES) {
		char *at = ring + h->head % WIRE_RING_BYTES;
		char *end = put_name(at, ++*number);
		__atomic_store_n(&h->head, h->head + (uint64_t)(end - at), __ATOMIC_RELEASE);
	}
}

static struct wire_header *answer(int listener, struct wire_header *ring)
{
	char request[4096];
	int fd = accept(listener, NULL, NULL);
	ssize_t len = read(fd, request, sizeof(request) - 1);

	for (ssize_t i = 0; i < len; i++)
		request[i] = request[i] ? request[i] : ' ';
	request[len > 0 ? len : 0] = '\0';
	const char *nonce = strstr(request, "cmd=start;nonce=");
	if (nonce)
		ring = make_ring(nonce + strlen("cmd=start;nonce="));
	if (write(fd, loaded, sizeof(loaded) - 1) < 0)
		exit(1);
	close(fd);
	return ring;
}

static void act(int listener, int is_mute)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	struct wire_header *ring = NULL;
	uint64_t number = 1;

	for (;;) {
		if (is_mute)
			pause();
		if (poll(&p, 1, ring ? 2 : -1) > 0)
			ring = answer(listener, ring);
		if (ring)
			flood(ring, &number);
	}
}

/*
 * Listens where a JVM with this PID would. Returns -1 if that name is taken, e.g. by the socket of
 * an ended JVM of another user.
 */
static int listen_as_jvm(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "/tmp/.java_pid%d", getpid());
	unlink(addr.sun_path);
	if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) || listen(listener, 5))
		return -1;
	return listener;
}

/* Returns the PID of a new process that listens, or 0 if it found its name taken. */
static pid_t start_fake(int is_mute)
{
	int ends[2];
	char c;

	if (pipe(ends))
		err(1, "pipe");
	pid_t child = fork();
	if (child < 0)
		err(1, "fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		int listener = listen_as_jvm();
		if (listener < 0 || write(ends[1], "", 1) != 1)
			_exit(1);
		act(listener, is_mute);
	}
	close(ends[1]);
	int is_listening = read(ends[0], &c, 1) == 1;
	close(ends[0]);
	if (!is_listening)
		waitpid(child, NULL, 0);
	return is_listening ? child : 0;
}

int main(int argc, char **argv)
{
	int file = argc == 4 ? open(argv[1], O_RDONLY) : -1;

	if (file < 0)
		errx(1, "usage: fake_jvms FILE N mute|flood");
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED)
		err(1, "%s", argv[1]);
	for (int missing = atoi(argv[2]); missing;) {
		pid_t child = start_fake(!strcmp(argv[3], "mute"));
		if (!child)
			continue;
		printf("%d\n", child);
		missing--;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
