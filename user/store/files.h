/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the store, relative to descriptors of its directories. Links are never followed. */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "base/vec.h"

/*
 * Writes a file that appears under its name only when it is complete and synced. `replaces`: an
 * old file of that name is replaced, otherwise -EEXIST. Returns a negative errno: -ENOSPC, -EROFS..
 */
int file_put(int dir, const char *name, const void *bytes, size_t nr, bool replaces);

/* Opens a regular file for reading. Returns a descriptor or a negative errno. */
int file_get(int dir, const char *name);

/* Reads an open file of at most `max` bytes. The caller frees *out. */
int file_load(int fd, size_t max, char **out, size_t *len);

/* Opens the directory and makes it if it is missing. Returns a descriptor or a negative errno. */
int dir_open(int dir, const char *name);

/* The names in a directory, in no order, without "." and "..". */
struct name_list {
	VEC(char *) all;
};
int dir_names(int dir, struct name_list *out);
void name_list_fini(struct name_list *names);

/* Removes files whose writing was cut off. */
void dir_remove_temporary(int dir);

/* The size of a file, 0 if there is none. */
u64 file_size(int dir, const char *name);
