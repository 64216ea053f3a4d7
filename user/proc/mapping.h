/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of a process, and lists of them that several processes share. */
#pragma once

#include "base/dict.h"
#include "base/types.h"

/*
 * Paths of mapped files. The same libraries are mapped by most processes, and a hostile process may
 * map one file with a long path very often: equal paths are stored once. path_new returns the
 * stored copy of `len` bytes; each call of path_new and path_share needs a path_free, which ignores
 * NULL.
 */
const char *path_new(const char *text, size_t len);
const char *path_share(const char *path);
void path_free(const char *path);

/* The memory that the path takes, if nothing else shares it. */
size_t path_bytes(const char *path);

struct mapping {
	u64 start, end; /* [start, end) in the process */
	u64 file_off;   /* offset of `start` in the file */
	u64 inode;      /* 0 for anonymous memory */
	u32 dev_major, dev_minor;
	/*
	 * in a list: the mmap call that made it. A fork has its parent's number, because the kernel
	 * copies the mapping. Otherwise 0.
	 */
	u64 origin;
	bool readable, writable, executable;
	bool deleted;     /* the path no longer leads to this file */
	bool is_copy;     /* anonymous memory with the file's text: capture/unwind/moved_text.h */
	const char *path; /* in a list: of path_new; "" for anonymous memory, "[vdso]", ...; without
			     " (deleted)" */
};

struct mappings {
	struct mapping *at; /* sorted by start, disjoint */
	size_t nr, cap;
};

/*
 * Reads /proc/PID/maps, only executable mappings if `executable_only`. -ESRCH if the process is
 * gone, -E2BIG if the list takes more than MAPPINGS_BYTES_MAX, -ETIMEDOUT if reading waited longer
 * than MAPPINGS_BLOCKED_NS. The caller owns *out.
 */
int mappings_read(pid_t pid, bool executable_only, struct mappings *out);

/*
 * The limit for mappings_bytes and for the time that reading waits for the process. A process locks
 * its list while it maps memory or ends, and keeps the lock while it waits for a CPU.
 */
struct mappings_limits {
	size_t bytes_max;
	u64 blocked_max_ns;
	u64 blocked_ns; /* set: how long reading has waited, if that was long */
};

/* As mappings_read, with other limits. */
int mappings_read_within(pid_t pid, bool executable_only, struct mappings_limits *limits,
			 struct mappings *out);

/* The memory that the list takes. Paths count once for each run of mappings that have them. */
size_t mappings_bytes(const struct mappings *all);

/* The kernel's code for probed nops. perf reports only 15 bytes of its name. */
bool mapping_is_uprobes_trampoline(const struct mapping *m);

/* The mapping that holds `addr`, or NULL; valid until `all` changes. */
const struct mapping *mappings_find(const struct mappings *all, u64 addr);

/* The first mapping that ends after `addr`, or NULL; valid until `all` changes. */
const struct mapping *mappings_next(const struct mappings *all, u64 addr);

/*
 * Adds a copy of `m`. As after mmap, it replaces the parts of older mappings that it covers. A path
 * may end in " (deleted)".
 * Returns by how much mappings_bytes has grown; it may have become less.
 */
s64 mappings_insert(struct mappings *all, const struct mapping *m);
void mappings_copy(const struct mappings *from, struct mappings *out);
void mappings_fini(struct mappings *all);

#define MAPPINGS_BYTES_MAX  (64u << 20)
#define MAPPINGS_BLOCKED_NS 500000000ull

/*
 * Lists of mappings that several processes share: a child has its parent's list until one of them
 * changes it. The memory of all lists is limited, in total and to a quarter of that for each user.
 */
#define MAPPING_BLOCKS_BYTES (64u << 20)
#define MAPPING_USER_BYTES   (MAPPING_BLOCKS_BYTES / 4)

/* The memory in use. {0} is valid. */
struct mapping_budget {
	size_t bytes;
	struct dict by_user; /* uid -> bytes */
};

struct mapping_block {
	struct mappings all;
	u32 nr_processes;
	uid_t uid;    /* whose share it takes */
	size_t bytes; /* taken from the budget */
};

void mapping_budget_fini(struct mapping_budget *b);

/* How many bytes the user may still take. */
size_t mapping_budget_room(const struct mapping_budget *b, uid_t uid);

/* Takes over the list. NULL if there is no room; the list is then freed. */
struct mapping_block *mapping_block_new(struct mapping_budget *b, uid_t uid, struct mappings *all);

/* Shares the list with one more process. NULL stays NULL. */
struct mapping_block *mapping_block_share(struct mapping_block *block);

/* Gives up one process's part. Ignores NULL. */
void mapping_block_drop(struct mapping_budget *b, struct mapping_block *block);

/*
 * Adds a mapping for one process, whose list is *block, NULL if empty. If others share the list,
 * *block becomes a copy that takes the share of `uid`. Returns false if there is no room.
 */
bool mapping_block_insert(struct mapping_budget *b, struct mapping_block **block, uid_t uid,
			  const struct mapping *m);

/* Moves a list that no other process has to the share of `uid`. Ignores NULL. */
void mapping_block_move(struct mapping_budget *b, struct mapping_block *block, uid_t uid);
