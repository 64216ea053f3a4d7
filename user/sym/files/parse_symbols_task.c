/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files with native code, in a worker. Part of sym/files/parse_symbols.h. */
#include <errno.h>
#include <string.h>

#include "elf/debugfile.h"
#include "sym/files/parse_symbols.h"

int parse_headers_task(struct worker_io *io, const int *fds, const void *params, size_t len)
{
	struct parsed_headers headers = { 0 };
	auto_elf struct elf *e = NULL;
	size_t nr, id_len;

	int err = elf_open_fd(fds[0], &e);
	if (err)
		return err;
	const struct elf_segment *segments = elf_segments(e, &nr);
	if (!elf_build_id(e, headers.build_id, &id_len))
		headers.build_id_len = (u32)id_len;
	for (size_t i = 0; i < nr && headers.nr_segments < PARSED_SEGMENTS_MAX; i++)
		if (segments[i].type == PT_LOAD)
			headers.segments[headers.nr_segments++] = segments[i];
	return worker_put(io, &headers, sizeof(headers));
}

static int ask_for_debug_file(enum debug_place place, const char *path, void *io)
{
	return worker_open(io, place, path);
}

/* Names of a module without .symtab may be in a separate or embedded debug file. */
static struct symbols *read_stripped(struct worker_io *io, const struct elf *e, const char *path,
				     size_t max_bytes)
{
	const struct debug_places in = { path, ask_for_debug_file, io };
	const struct elf *more[2];
	size_t nr = 0, len;
	auto_free void *embedded = NULL;
	auto_elf struct elf *inner = NULL, *separate = NULL;

	auto_close int fd = debugfile_find(e, &in);
	if (fd >= 0 && !elf_open_fd(fd, &separate))
		more[nr++] = separate;
	if (!debugfile_embedded(e, &embedded, &len) && !elf_open_memory(embedded, len, &inner))
		more[nr++] = inner;
	return symbols_read(e, more, nr, max_bytes);
}

static int put(void *io, const void *bytes, size_t len)
{
	return worker_put(io, bytes, len);
}

int parse_symbols_task(struct worker_io *io, const int *fds, const void *params, size_t len)
{
	const char *path = (const char *)params + sizeof(struct symbols_request);
	struct symbols_request request;
	auto_elf struct elf *e = NULL;

	if (len <= sizeof(request) || ((const char *)params)[len - 1])
		return -EINVAL;
	memcpy(&request, params, sizeof(request));
	int err = elf_open_fd(fds[0], &e);
	if (err)
		return err;
	auto_symbols struct symbols *s = elf_section_find(e, ".symtab")
						 ? symbols_read(e, NULL, 0, request.max_bytes)
						 : read_stripped(io, e, path, request.max_bytes);
	return symbols_encode(s, put, io);
}
