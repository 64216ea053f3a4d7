/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files: read with a size limit, written atomically. */
#pragma once

#include <stdio.h>

#include "base/types.h"

/*
 * access(2) with the effective ids and capabilities. Real ids have no capabilities. Returns 0 or a
 * negative errno.
 */
int file_access(const char *path, int mode);

/*
 * Reads a whole file of at most `max` bytes; `path` is relative to `dirfd` (AT_FDCWD: the current
 * folder). Files of /proc, whose stated size is 0, work too. *out ends in a NUL that `*len` does
 * not count; the caller frees it. Returns -EFBIG if the file is longer than `max`.
 */
int file_read_at(int dirfd, const char *path, size_t max, char **out, size_t *len);
int file_read(const char *path, size_t max, char **out, size_t *len);

/*
 * Reads to the end of the file and calls `visit` with every complete line, without its newline.
 * Stops when `visit` returns something other than 0 and returns that. Ignores bytes after the last
 * newline. Returns -EBADMSG at a line of more than `max` bytes, or a negative errno of read(2).
 */
typedef int (*file_line_fn)(const char *line, const char *end, void *ctx);
int file_each_line(int fd, size_t max, file_line_fn visit, void *ctx);

/*
 * Opens a path that someone else controls for reading. It opens regular files only: it never wakes
 * a device or waits for a pipe. It refuses files of /proc, tracefs and the kernel's other file
 * systems, because reading them can have effects. `resolve` holds RESOLVE_ flags of openat2(2).
 * Returns the descriptor or a negative errno; -ENOEXEC if the file is not such a file.
 */
int file_open_regular(int dirfd, const char *path, u64 resolve);

/* As above for a path below a folder, in which links, also absolute ones, stay. */
int file_open_below(int dirfd, const char *path);

/*
 * Whether `fd` is a pipe or socket whose reader has closed it, as `head` does when it has enough.
 */
bool file_has_no_reader(int fd);

/*
 * A file that appears under its name only when it is complete. It is written beside the target
 * under a temporary name, synced, and renamed. "-" is standard output. An existing path that is not
 * a regular file (a pipe, /dev/null) is written in place.
 */
struct outfile {
	FILE *f;
	char *path, *tmp_path; /* tmp_path is NULL for a file written in place */
};

int outfile_open(const char *path, struct outfile **out);

/* Like outfile_open, for outfile_commit_new. Does not open anything that exists at `path`. */
int outfile_open_new(const char *path, struct outfile **out);

/*
 * Finishes the file and frees `o`. *size_bytes gets the bytes written; it may be NULL. Returns 0 if
 * standard output's reader has closed it.
 */
int outfile_commit(struct outfile *o, u64 *size_bytes);

/*
 * Like outfile_commit, but replaces nothing. If flame.html exists, the file becomes flame-2.html,
 * else flame-3.html, .. The caller frees *name. Returns -EEXIST if all numbers are taken.
 */
int outfile_commit_new(struct outfile *o, char **name, u64 *size_bytes);

/* Removes the temporary file and frees `o`. The old file stays unchanged. Accepts NULL. */
void outfile_abort(struct outfile *o);
