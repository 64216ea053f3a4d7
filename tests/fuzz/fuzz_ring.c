/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes in an agent's ring give names or an error. If the first byte is odd, they are the
 * header and the records after it. Otherwise they are only records, read in pieces of that many
 * bytes.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jvm/agent/agent_ring.h"
#include "jvm/agent/agent_wire.h"
#include "jvmmap/wire.h"
#include "jvmmap/wire_records.h"

static void look_up(const struct codemap *map)
{
	struct java_frame out[8];

	for (u64 pc = 0x7f0000000000; pc < 0x7f0000004000; pc += 61) {
		int nr = codemap_find(map, pc, pc % 3 * 1000000000, 0, out, 8);
		if (nr < 0 || nr > 8)
			abort();
		for (int i = 0; i < nr; i++)
			if (!out[i].class_name || !out[i].method || !out[i].signature)
				abort();
	}
	if (codemap_size(map).bytes > 96 << 20)
		abort();
}

static void as_records(const u8 *data, size_t size, size_t piece)
{
	struct codemap *map = codemap_new();
	struct agent_wire w;
	size_t begin = 0;

	agent_wire_init(&w, map, 0);
	w.threads = thread_names_new();
	for (size_t end = piece; begin < size; end += piece) {
		if (end > size)
			end = size;
		ssize_t used = agent_wire_decode(&w, data + begin, end - begin);
		if (used > (ssize_t)(end - begin))
			abort();
		if (used < 0 || end == size)
			break;
		begin += (size_t)used;
	}
	look_up(map);
	thread_names_free(w.threads);
	agent_wire_fini(&w);
	codemap_free(map);
}

static void as_ring(const u8 *data, size_t size)
{
	const size_t bytes = WIRE_HEADER_BYTES + WIRE_RING_BYTES;
	static char nonce[] = "0123456789abcdef0123456789abcdef";
	struct wire_header head = { .magic = WIRE_MAGIC,
				    .abi = WIRE_ABI,
				    .ring_bytes = WIRE_RING_BYTES };
	struct codemap *map = codemap_new();
	struct agent_ring *ring;
	int fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	memcpy(head.nonce, nonce, sizeof(nonce));
	if (ftruncate(fd, (off_t)bytes) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		abort();
	/* The constant part of the header stays valid; the rest comes from the input. */
	size_t rest = offsetof(struct wire_header, start_ns);
	size_t len = size < sizeof(head) - rest ? size : sizeof(head) - rest;
	memcpy((u8 *)&head + rest, data, len);
	if (pwrite(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    pwrite(fd, data + len, size - len, WIRE_HEADER_BYTES) != (ssize_t)(size - len))
		abort();
	if (agent_ring_open(fd, nonce, 0, map, &ring))
		abort();
	agent_ring_read(ring);
	agent_ring_read(ring);
	look_up(map);
	free(agent_ring_failure(ring));
	agent_ring_close(ring);
	codemap_free(map);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] & 1)
		as_ring(data + 1, size - 1);
	else
		as_records(data + 1, size - 1, (size_t)data[0] * 64 + 64);
	return 0;
}
