/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of native files that workers read (build id, segments, functions), and the check of the
 * workers' answers.
 */
#pragma once

#include "elf/symbols.h"
#include "sandbox/worker.h"

#define PARSED_SEGMENTS_MAX 64

/* WORKER_HEADERS: the build id and the PT_LOADs of a file. Takes no parameters. */
int parse_headers_task(struct worker_io *io, const int *fds, const void *params, size_t len);

/* Its result. */
struct parsed_headers {
	u32 build_id_len;
	u8 build_id[ELF_BUILD_ID_MAX];
	u32 nr_segments;
	struct elf_segment segments[PARSED_SEGMENTS_MAX];
};

/* -EBADMSG if the bytes are no such result. */
int parsed_headers_take(const void *bytes, size_t nr, struct parsed_headers *out);

/* The parameters of WORKER_SYMBOLS: this, and the module's path as its process sees it, with a NUL.
 */
struct symbols_request {
	u64 max_bytes; /* of symbols_read */
};

/*
 * WORKER_SYMBOLS: the functions of a file and, if it was stripped, of its debug files, which it
 * asks for by worker_open with a place of enum debug_place. symbols_decode takes the result.
 */
int parse_symbols_task(struct worker_io *io, const int *fds, const void *params, size_t len);
