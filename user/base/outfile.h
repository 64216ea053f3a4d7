/* SPDX-License-Identifier: Apache-2.0 */
/* Files written whole or not at all, also in folders where other users plant files. */
#pragma once

#include <stdio.h>

#include "base/types.h"

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
	OUTFILE_ANOTHERS = -4097,     /* of another user in a sticky folder, as /tmp is */
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

/* The error of outfile_open, if any. Does not open a pipe, whose reader would see its end. */
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
