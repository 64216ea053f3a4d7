/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's side of the workers' protocol: sequences of messages of a worker that was taken
 * over, and what the recorder opens for it. The workers are real ones, which makes this target
 * slow.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/time.h"
#include "sandbox/message.h"
#include "sandbox/workers.h"

/* A message of a worker that was taken over; `text` follows. */
struct lie {
	u8 kind, what, err, len;
	u16 nr;
} __attribute__((packed));

/* In the worker: sends the messages that the file lists, without reading an answer. */
static int tell_lies(struct worker_io *io, const int *fds, const void *params, size_t len)
{
	static struct worker_message m;
	struct lie lie;

	while (read(fds[0], &lie, sizeof(lie)) == sizeof(lie)) {
		struct iovec iov = { &m, lie.kind & 0x80 ? lie.nr % sizeof(m)
							 : WORKER_MESSAGE_BYTES(lie.len) };
		struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
		m = (struct worker_message){ .kind = lie.kind & 0x7f,
					     .what = lie.what,
					     .len = lie.len };
		m.err = (s8)lie.err;
		m.nr = lie.nr;
		if (read(fds[0], m.text, lie.len) < 0 || sendmsg(3, &msg, MSG_NOSIGNAL) < 0)
			break;
	}
	return 0;
}

static int open_something(void *ctx, u32 place, const char *path)
{
	return place & 1 ? memfd_create("fuzz", MFD_CLOEXEC) : -ENOENT;
}

static int file_of(const u8 *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	return fd;
}

/* Every work ends, whatever its worker sends. */
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const worker_fn tasks[PARSER_TASKS] = { [WORKER_ROWS] = tell_lies };
	static const struct worker_kind kind = PARSER_KIND(tasks);
	static struct workers *w;
	const struct work_order order = {
		.task = WORKER_ROWS,
		.fds = { file_of(data, size), -1 },
		.params = "",
		.len = 1,
		.max = 4096,
		.open = open_something,
	};
	void *bytes = NULL;
	size_t nr = 0;

	if (!w && workers_new(&kind, &w))
		abort();
	workers_set_patience(w, 10 * NS_PER_SEC);
	struct work *k = work_start(w, &order);
	int err = work_result(k, &bytes, &nr);
	if (err > 0 || err == -EAGAIN || nr > order.max)
		abort();
	free(bytes);
	work_free(k);
	return 0;
}
