/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind rows kept on disk from one run to the next, one file a module, so that a large module is
 * compiled once.
 *
 * A file is named by the module's build id and by a seal of the call frame information itself: a
 * build id can be copied, and the rows of one container's file must never serve for another's. The
 * seals are keyed with a secret in the folder, which belongs to the user who runs the program (root
 * as a rule) and is closed for all others. What is not ours, damaged or of another version is
 * removed and built anew.
 */
#pragma once

#include "base/siphash.h"
#include "elf/rows.h"

/* Call frame information of fewer bytes is compiled faster than a file is opened and checked. */
#define ROWCACHE_MIN_INPUT 65536

struct rowcache {
	int dir; /* -1: none, everything is built */
	u64 max_bytes;
	u8 key[SIPHASH_KEY_LEN];
	u32 nr_hits, nr_built, nr_damaged; /* files used, modules compiled, files thrown away */
};

#define ROWCACHE_NONE     \
	{                 \
		.dir = -1 \
	}

/*
 * Opens the folder `path`, makes it with mode 0700 if only it is missing. When a new file would
 * make it larger than `max_bytes`, those go that were not used for longest. -EPERM: it is not the
 * user's own or not closed for others (chmod 700), -ENOTDIR: it is a link or no folder. The caller
 * owns *out.
 */
int rowcache_open(const char *path, u64 max_bytes, struct rowcache *out);

/*
 * The rows of a file, as by rows_build, from the cache if they are there, else built and put
 * there; that they cannot be put there is no error. The caller owns *out.
 */
int rowcache_build(struct rowcache *cache, const struct elf *e, struct rows *out);
void rowcache_fini(struct rowcache *cache);
