/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names functions of a profile that had no symbols where they were recorded. Their frames have the
 * address, and the build id of the file (profile/unnamed.h). Debug files of that build are searched
 * below folders as debuggers use them:
 *
 *	FOLDER/.build-id/9f/2c...debug   /usr/lib/debug (GDB manual, "Separate Debug Files")
 *	FOLDER/9f2c.../debuginfo         the cache of elfutils (debuginfod_find_debuginfo(3))
 *
 * A file is used only if it belongs to root or to this user and has that build id. Workers read it.
 */
#pragma once

#include "base/str.h"
#include "profile/unnamed.h"
#include "sandbox/workers.h"
#include "sym/files/debuginfod.h"

struct late_sources {
	const char *const *folders; /* in this order */
	size_t nr_folders;
	struct debuginfod *debuginfod; /* after the folders: files that have arrived; may be NULL */
	struct workers *workers;       /* NULL: this process reads the files */
};

/* A file that lacked symbols. */
struct late_file {
	char *name;
	char build_id[BUILD_ID_HEX_MAX + 1];
	u64 weight;   /* as in struct unnamed_file */
	u32 nr_named; /* frames that have a name now */
	/*
	 * 0, or why there is no symbol. -ENOENT: no debug file, -EAGAIN: it is still on its way,
	 * -EPERM: it is another user's, -ESTALE: it is of another build; otherwise an error of
	 * reading it.
	 */
	int err;
	const char *why; /* the reason in words, of debuginfod; NULL if `err` is the reason */
};

typedef VEC(struct late_file) late_files;

/*
 * Gives these functions their names, and merges stacks that become equal. *out gets the files of
 * which a build id and an address are known. Call late_files_fini afterwards.
 */
void late_names_give(struct profile *p, const struct late_sources *from, late_files *out);
void late_files_fini(late_files *files);

/* Appends the folder of elfutils' cache of this user. */
void debuginfod_cache_add(struct str *out);
