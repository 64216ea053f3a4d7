/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's side of the workers' protocol, without its sandbox. The first byte chooses: a task
 * gets parameters and a file, or the worker's loop gets a sequence of messages.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "capture/parsers.h"
#include "sandbox/message.h"

#define RESULT_MAX   (1u << 20)
#define MESSAGES_MAX 8

static int file_of(const u8 *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	return fd;
}

/* The first `len` bytes are the parameters, the others the file. */
static void as_request(worker_fn task, const u8 *data, size_t size, size_t len)
{
	size_t nr = 0;
	void *bytes = NULL;

	len = size < len ? size : len;
	int fds[WORKER_FDS_MAX] = { file_of(data + len, size - len), -1 };
	if (!worker_run_here(task, fds, data, len, RESULT_MAX, NULL, NULL, &bytes, &nr) &&
	    nr > RESULT_MAX)
		abort();
	free(bytes);
	close(fds[0]);
}

/* A message of the recorder, with up to 4 descriptors; `len` bytes of text follow. */
struct sent {
	u8 kind, what, nr_fds, is_cut;
	u16 nr, len;
} __attribute__((packed));

static void send_one(int sock, const struct sent *s, struct worker_message *m, int file)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(4 * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { m, WORKER_MESSAGE_BYTES(m->len) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	const int fds[4] = { file, file, file, file };
	size_t nr = s->nr_fds % 5;

	if (s->is_cut & 1)
		iov.iov_len = s->nr % sizeof(*m);
	if (nr) {
		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(nr * sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(nr * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, nr * sizeof(int));
	}
	if (sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
}

/* Queues the messages. The rest of the data is the file that they bring. */
static void send_all(int sock, const u8 *data, size_t size)
{
	static struct worker_message m;
	int file = file_of(data, size);
	struct sent s;

	for (int i = 0; i < MESSAGES_MAX && size >= sizeof(s); i++) {
		memcpy(&s, data, sizeof(s));
		data += sizeof(s);
		size -= sizeof(s);
		m = (struct worker_message){ .kind = s.kind % 6, .what = s.what % 8 };
		m.nr = s.what & 0x80 ? UINT32_MAX : s.nr;
		m.len = s.len % 512 < size ? s.len % 512 : (u32)size;
		memcpy(m.text, data, m.len);
		data += m.len;
		size -= m.len;
		send_one(sock, &s, &m, file);
	}
	close(file);
}

/* Nobody reads the answers; they stay in the socket. */
static void as_loop(const u8 *data, size_t size)
{
	static void *shared;
	int pair[2];

	if (!shared)
		shared = mmap(NULL, WORKER_RESULT_MAX, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		abort();
	send_all(pair[0], data, size);
	shutdown(pair[0], SHUT_WR);
	worker_serve(pair[1], shared, &parsers);
	close(pair[0]);
	close(pair[1]);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (!size)
		return 0;
	u8 what = data[0] % (PARSER_TASKS + 1);
	if (what == PARSER_TASKS)
		as_loop(data + 1, size - 1);
	else
		as_request(parsers.tasks[what], data + 1, size - 1,
			   what == WORKER_PLACES ? 80 : 64);
	return 0;
}
