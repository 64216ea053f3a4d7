/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind rows kept on disk between runs, one file per module: a large module is compiled only once.
 *
 * A file's name is the module's build id and a seal of the call frame information. A build id alone
 * can be copied, and the rows of one container's file must never serve for another's. The seals are
 * keyed with a secret in the folder. The folder belongs to the user who runs the program (usually
 * root) and is closed for all others. Files that are foreign, damaged or of another version are
 * removed and rebuilt.
 *
 * Other results that take long to make are kept there as well, by a name.
 */
#pragma once

#include "base/dict.h"
#include "elf/elf.h"
#include "elf/rows.h"

/* Smaller call frame information is compiled faster than a file is opened and checked. */
#define ROWCACHE_MIN_INPUT 65536

#define ROWCACHE_PATH      "/var/cache/sysflame"
#define ROWCACHE_BYTES_MAX (256ull << 20)

struct rowcache {
	int dir; /* -1 without a cache: everything is compiled */
	u64 max_bytes;
	u8 key[SIPHASH_KEY_LEN];
	u32 nr_hits, nr_damaged; /* files used, files discarded */
};

#define ROWCACHE_NONE     \
	{                 \
		.dir = -1 \
	}

/*
 * Opens the folder `path`. Creates it with mode 0700 if only the last component is missing. A new
 * file that would exceed `max_bytes` displaces the least recently used ones. -EPERM: the folder
 * belongs to another user or is open to others (chmod 700). -ENOTDIR: it is a link or not a folder.
 * The caller owns *out.
 */
int rowcache_open(const char *path, u64 max_bytes, struct rowcache *out);

/* Identifies a module's rows by everything that they depend on. */
struct rowcache_id {
	u64 seal; /* of the call frame information */
	u32 build_id_len;
	u8 build_id[ELF_BUILD_ID_MAX];
};

/* Whether the input is large enough to keep its rows. */
bool rowcache_is_worth(const struct cfi_input *input);
void rowcache_identify(const u8 key[SIPHASH_KEY_LEN], const struct elf *e,
		       const struct cfi_input *input, struct rowcache_id *out);

/*
 * Returns -ENOENT if the cache does not hold the rows, or there is no cache. The caller owns *out.
 */
int rowcache_load(struct rowcache *cache, const struct rowcache_id *id, struct rows *out);

/* A failure to store is not an error. */
void rowcache_store(struct rowcache *cache, const struct rowcache_id *id, const struct rows *rows);

/*
 * The same for other bytes, at most ROWCACHE_NAMED_MAX of them. The name has letters, digits and
 * '-', and tells everything that the bytes depend on. The caller frees *out, which is aligned as by
 * malloc.
 */
#define ROWCACHE_NAMED_MAX (1u << 20)
int rowcache_load_named(struct rowcache *cache, const char *name, void **out, size_t *len);
void rowcache_store_named(const struct rowcache *cache, const char *name, const void *bytes,
			  size_t len);

void rowcache_fini(struct rowcache *cache);
