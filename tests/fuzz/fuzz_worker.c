/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both sides of the workers' protocol. The first byte chooses: the recorder takes the rest as a
 * result of a task, either side receives it as a message, or a worker takes it as a request.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "capture/unwind/row_build.h"
#include "sym/parse_symbols.h"
#include "sym/perf_map.h"
#include "worker/message.h"

static void as_symbols(const u8 *data, size_t size)
{
	struct symbols *s;
	u64 start;

	if (symbols_decode(data, size, &s))
		return;
	for (u64 at = 0; at < 4096; at += 7) {
		const char *name = symbols_find(s, at, &start);
		if (name && strlen(name) > size)
			abort();
		if (name)
			symbols_is_role(s, name);
	}
	symbols_free(s);
}

static void as_perf_map(const u8 *data, size_t size)
{
	struct perf_map *map;

	if (perf_map_decode(data, size, &map))
		return;
	for (u64 at = 0; at < 4096; at += 7) {
		const char *name = perf_map_find(map, at);
		if (name && strlen(name) > size)
			abort();
	}
	perf_map_free(map);
}

static void as_headers(const u8 *data, size_t size)
{
	struct parsed_headers h;
	u64 bias;

	if (!parsed_headers_take(data, size, &h))
		elf_bias_of(h.segments, h.nr_segments, 0x7f0000000000, 4096, &bias);
}

static void as_rows(const u8 *data, size_t size)
{
	auto_built_rows struct built_rows built = { 0 };
	u8 *bytes = xmemdup(data, size);

	if (!built_rows_decode(&bytes, size, &built) &&
	    !rows_are_valid(built.rows.at, built.rows.nr))
		abort();
	free(bytes);
}

/* The other end sends anything, and a descriptor. */
static void as_message(const u8 *data, size_t size)
{
	static struct worker_message m;
	struct iovec iov = { (void *)data, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int pair[2], fds[WORKER_FDS_MAX];
	size_t nr;

	if (!size || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair))
		return;
	if (sendmsg(pair[0], &msg, 0) > 0 && !message_receive(pair[1], &m, fds, &nr) &&
	    (m.len > WORKER_TEXT_MAX || nr))
		abort();
	close(pair[0]);
	close(pair[1]);
}

static int file_of(const u8 *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (write(fd, data, size) != (ssize_t)size)
		abort();
	return fd;
}

/* The first 64 bytes are the parameters, the others the file. */
static void as_request(worker_fn task, const u8 *data, size_t size)
{
	size_t len = size < 64 ? size : 64, nr = 0;
	int fds[WORKER_FDS_MAX] = { file_of(data + len, size - len), -1 };
	void *bytes = NULL;

	if (!worker_run_here(task, fds, data, len, 1 << 20, NULL, NULL, &bytes, &nr) &&
	    nr > 1 << 20)
		abort();
	free(bytes);
	close(fds[0]);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const worker_fn tasks[] = { row_build_task, parse_symbols_task, parse_headers_task,
					   perf_map_task };

	if (!size)
		return 0;
	u8 what = data[0] % 9;
	data++;
	size--;
	if (what == 0)
		as_symbols(data, size);
	else if (what == 1)
		as_perf_map(data, size);
	else if (what == 2)
		as_headers(data, size);
	else if (what == 3)
		as_rows(data, size);
	else if (what == 4)
		as_message(data, size);
	else
		as_request(tasks[what - 5], data, size);
	return 0;
}
