/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's side of the workers' protocol: the first byte chooses whether the rest is a
 * message or the result of a task. fuzz_workers sends sequences of messages.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "capture/unwind/row_build.h"
#include "jvm/process/code_dependencies.h"
#include "sandbox/message.h"
#include "sym/files/parse_symbols.h"
#include "sym/files/perf_map.h"
#include "sym/files/places.h"

static void as_symbols(const u8 *data, size_t size)
{
	void *bytes = xmemdup(data, size);
	struct symbols *s;
	u64 start, end;
	int err = symbols_decode(&bytes, size, &s);

	free(bytes);
	if (err)
		return;
	for (u64 at = 0; at < 4096; at += 7) {
		const char *name = symbols_find(s, at, &start);
		if (name && strlen(name) > size)
			abort();
		if (name && *name)
			symbols_is_role(s, name);
		if (symbols_gap(s, at, &start, &end) && (name || start > at || end <= at))
			abort();
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

/* An answer about `nr` functions, or the places of a probe. */
static void as_places(const u8 *data, size_t size)
{
	auto_places struct places found = { 0 };
	struct places_query query = { .kind = size % 3, .nr_names = size / 3 % 4 };
	int err = places_decode(data, size, &query, &found);

	if (err > 0 || err == -EAGAIN || found.nr > PLACES_MAX)
		abort();
	for (u32 i = 0; i < found.nr; i++)
		if (found.at[i].file_off && found.at[i].size == 1)
			found.at[i].size = 0;
	for (size_t i = 0; found.near[i]; i++)
		if (strlen(found.near[i]) > size)
			abort();
}

static void as_dependencies(const u8 *data, size_t size)
{
	u64 vaddr = 0;

	if (!code_dependencies_decode(data, size, &vaddr) && (size != sizeof(vaddr) || !vaddr))
		abort();
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static void (*const as[])(const u8 *data, size_t size) = {
		as_symbols, as_perf_map, as_headers,      as_rows,
		as_message, as_places,   as_dependencies,
	};

	if (size)
		as[data[0] % ARRAY_SIZE(as)](data + 1, size - 1);
	return 0;
}
