/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the unwind rows of one file: a worker compiles them, or they come from the cache on disk.
 * For a file with much call frame information there are two requests to the worker. The answer to
 * the first identifies the rows. The second request follows only if the cache lacks them.
 */
#pragma once

#include "base/auto.h"
#include "elf/rowcache.h"
#include "sandbox/workers.h"

struct row_build;

/*
 * Rows that a worker has built from a file, which may be hostile. They are checked: rows_are_valid
 * holds, and all numbers are bounded.
 */
struct built_rows {
	struct rows rows;             /* owned */
	struct elf_segment *segments; /* owned; PT_LOAD */
	size_t nr_segments;
};

void built_rows_fini(struct built_rows *b);
#define auto_built_rows __attribute__((cleanup(built_rows_fini)))

/*
 * Starts on the file `fd`, which stays the caller's, for the user who owns it. With `workers` NULL
 * the rows are compiled in this process. `cache` must outlive the build. More than `nr_max` rows
 * are -EFBIG.
 */
struct row_build *row_build_start(struct workers *workers, struct rowcache *cache, int fd,
				  uid_t user, u32 nr_max);

/* 0: the caller owns *out. -EAGAIN: ask again. Otherwise an error of rows.h or of work_result. */
int row_build_result(struct row_build *b, struct built_rows *out);
void row_build_free(struct row_build *b);

/*
 * Checks and takes a worker's answer with rows, whose memory they take over: *bytes becomes NULL.
 * -EBADMSG. The caller owns *out in any case.
 */
int built_rows_decode(u8 **bytes, size_t len, struct built_rows *out);

#define ROW_SEGMENTS_MAX 64

/* The recorder's request to a worker: which rows to build. */
struct row_request {
	u8 key[SIPHASH_KEY_LEN];
	u32 may_identify; /* the answer may be the id of the rows instead of the rows */
};

/* The answer: this head, the segments, the rows. */
struct row_answer {
	u32 is_identified; /* only `id` is valid */
	u32 nr_segments;
	struct rowcache_id id;
	u64 base;
	u32 nr, nr_fdes, nr_unsupported, nr_malformed, nr_unknown_ops, reserved;
};

/* The worker's part: WORKER_ROWS. It is in row_build_task.c. */
int row_build_task(struct worker_io *io, const int *fds, const void *params, size_t len);
