/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole files, read with a size limit, or written whole or not at all, also in folders where other
 * users plant files. Also files that others control, files in memory, and files of settings.
 */
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "base/str.h"
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

/* Writes all bytes. Returns 0 or a negative errno. */
int file_write_all(int fd, const void *bytes, size_t len);

/*
 * Writes a question to a file of the kernel and reads the answer from the same descriptor, as files
 * of selinuxfs need it. The answer, cut to `size`, ends in a NUL. Returns 0 or a negative errno;
 * -ENODATA if there is no answer.
 */
int file_ask(int dirfd, const char *path, const char *question, char *answer, size_t size);

/* As file_read, from the descriptor's position on. */
int file_read_fd(int fd, size_t max, char **out, size_t *len);

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
 * Whether a negative errno of opening or reading a file says that this one file cannot be read, and
 * probably never will: its disk is damaged, or it is somebody else's.
 */
bool file_is_unreadable(int err);

/*
 * Whether `fd` is a pipe or socket whose reader has closed it, as `head` does when it has enough.
 */
bool file_has_no_reader(int fd);

/* memfd_create(2): returns a descriptor of an empty file that can be sealed, or a negative
 * errno. */
int memfile_new(const char *name);

/* Files of settings have lines `key = value`, and only their owner may change them. */

/* Cuts blanks off both ends, in place. Returns the first other character. */
char *settings_trim(char *text);

/* May change the line. A negative errno ends the reading, with a sentence in `why`. */
typedef int (*settings_line_fn)(void *ctx, char *line, struct str *why);

/*
 * Calls `fn` for each line of `text`, which it cuts into lines. -EINVAL if `fn` fails; its sentence
 * then follows the number of the line in `why`.
 */
int settings_each_line(char *text, settings_line_fn fn, void *ctx, struct str *why);

/*
 * -EPERM, with a sentence in `why`, unless this is a regular file of root or of this process's user
 * that has none of the bits `forbidden` in its mode. `fault` begins the sentence about them.
 */
int settings_check_owner(int fd, mode_t forbidden, const char *fault, struct str *why);

/*
 * A file that appears under its name only when it is complete. It is written without a name, or
 * under one that nobody can guess, synced, and put in place. Its mode is 0600: a profile names
 * processes and code of other users.
 */
struct outfile {
	FILE *f;
	char *path;     /* NULL if it is written in place */
	char *tmp_path; /* NULL if it has no name yet */
};

/* Reasons for a refusal, beside negative errnos. */
enum {
	OUTFILE_BLOCK_DEVICE = -4096, /* only with `force` */
	/* the file belongs to another user, in a sticky folder such as /tmp */
	OUTFILE_ANOTHERS = -4097,
};

/*
 * `path` is a name, "-" or /dev/stdout, or /dev/fd/N. What exists there is replaced, not opened. A
 * pipe or character device is opened, but none of another user in a sticky folder, and no link of
 * such a user (as protected_fifos and protected_symlinks of proc(5)). A block device is opened only
 * with `force`.
 */
int outfile_open(const char *path, bool force, struct outfile **out);

/* Like outfile_open, for outfile_commit_new. Does not open anything that exists at `path`. */
int outfile_open_new(const char *path, struct outfile **out);

/*
 * The error of outfile_open, if any. Does not open a pipe: its reader would take the close for the
 * end.
 */
int outfile_try(const char *path, bool force);

/* The sentence for an error of these functions. */
const char *outfile_why(int err);

/*
 * Finishes the file and frees `o`. *size_bytes gets the bytes written; it may be NULL. Returns 0 if
 * the reader of a pipe has closed it.
 */
int outfile_commit(struct outfile *o, u64 *size_bytes);

/*
 * Like outfile_commit, but replaces nothing. If flame.html exists, the file becomes flame-2.html,
 * else flame-3.html, .. If many such names are taken, it gets a random one. The caller frees *name.
 */
int outfile_commit_new(struct outfile *o, char **name, u64 *size_bytes);

/* Removes the file and frees `o`. The old file stays unchanged. Accepts NULL. */
void outfile_abort(struct outfile *o);

/*
 * fstat(2) from the attributes that the kernel has cached: it does not wait for the server of a
 * file system. Leaves st_rdev, st_blksize and st_atim unset. Returns a negative errno.
 */
struct stat;
int file_status(int fd, struct stat *out);
