/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files: read with a bound, written atomically. */
#pragma once

#include <stdio.h>

#include "base/types.h"

/*
 * Reads a whole file (also of /proc, whose sizes read 0) of at most `max` bytes relative to
 * `dirfd` (AT_FDCWD for the current folder). *out is NUL-terminated, `*len` does not count the
 * NUL; the caller frees it. -EFBIG if there is more than `max`.
 */
int file_read_at(int dirfd, const char *path, size_t max, char **out, size_t *len);
int file_read(const char *path, size_t max, char **out, size_t *len);

/*
 * Reads to the file's end and calls `visit` with every whole line, without its newline, until it
 * returns something other than 0, which is returned. Bytes behind the last newline are no line.
 * -EBADMSG at a line of more than `max` bytes; else a negative errno of read(2).
 */
typedef int (*file_line_fn)(const char *line, const char *end, void *ctx);
int file_each_line(int fd, size_t max, file_line_fn visit, void *ctx);

/*
 * Opens a path that someone else controls for reading. Only a regular file is ever opened: no
 * device is woken and no pipe waited for. `resolve` are RESOLVE_ flags of openat2(2). Returns
 * the descriptor or a negative errno; -ENOEXEC if it is no regular file.
 */
int file_open_regular(int dirfd, const char *path, u64 resolve);

/*
 * A file that appears under its name only when it is whole: written beside the target under a
 * temporary name, synced, renamed. "-" is standard output. A path that exists and is no regular
 * file (a pipe, /dev/null) is written in place.
 */
struct outfile {
	FILE *f;
	char *path, *tmp_path; /* tmp_path NULL: written in place */
};

int outfile_open(const char *path, struct outfile **out);

/* Finishes the file and frees `o`; *size_bytes (may be NULL) gets what was written. */
int outfile_commit(struct outfile *o, u64 *size_bytes);

/* Removes what was written and frees `o`; the old file stays as it was. NULL is accepted. */
void outfile_abort(struct outfile *o);
