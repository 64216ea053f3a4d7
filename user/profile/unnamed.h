/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code of files for which no symbol is known: the names of its frames, and which files lack
 * symbols.
 *
 *	[libz.so.1.2.13] function at 0x4970     a function, by its first address in the file
 *	[libz.so.1.2.13] code at 0x4000-0x4fff  code between known functions
 *	[libz.so.1.2.13]+0x4970                 an address: the file's functions could not be read
 *	[libc.so.6 below malloc]                a group of functions (sym/stripped.h)
 *
 * The module of these frames is the file's name with its build id, "libz.so.1.2.13 [build 9f2c..]".
 * Functions of two builds are therefore never one frame, and can be named later.
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "profile/profile.h"

enum unnamed_kind {
	UNNAMED_ADDRESS, /* `start` is any address */
	UNNAMED_FUNCTION,
	UNNAMED_RANGE,
	UNNAMED_GROUP, /* has no address */
};

#define BUILD_ID_HEX_MAX 64

struct unnamed {
	enum unnamed_kind kind;
	u64 start, end; /* by the file's own addresses; [start, end) of UNNAMED_RANGE */
	char build_id[BUILD_ID_HEX_MAX + 1]; /* in hexadecimal digits; "" if unknown */
};

/* Appends the name of a frame of that file; `u` is no group. */
void unnamed_name(struct str *out, const char *file, const struct unnamed *u);

/* Appends "FILE [build HEX]", or only the file if `len` is 0. */
void module_with_build(struct str *out, const char *file, const u8 *build_id, size_t len);

/* The length of the file's name in a module "FILE [build HEX]". */
size_t module_file_len(const char *module);

/* Returns false for a frame that has a name, or that is no code of a file. */
bool unnamed_parse(const struct frame *f, struct unnamed *out);

/* A file with functions that have no name. */
struct unnamed_file {
	char *name;
	char build_id[BUILD_ID_HEX_MAX + 1];
	u64 weight; /* of the stacks that have such a function, in the first value type */
};

typedef VEC(struct unnamed_file) unnamed_files;

/*
 * Finds the files with unnamed functions, the one of the largest weight first. Call
 * unnamed_files_fini afterwards.
 */
void unnamed_files_find(const struct profile *p, unnamed_files *out);
void unnamed_files_fini(unnamed_files *files);
