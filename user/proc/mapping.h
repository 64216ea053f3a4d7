/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of a process. */
#pragma once

#include "base/types.h"

struct mapping {
	u64 start, end; /* [start, end) in the process */
	u64 file_off;   /* offset of `start` in the file */
	u64 inode;      /* 0 for anonymous memory */
	u32 dev_major, dev_minor;
	bool readable, executable;
	bool deleted; /* the path no longer leads to this file */
	char *path;   /* owned; "" for anonymous memory, "[vdso]", ...; without " (deleted)" */
};

struct mappings {
	struct mapping *at; /* sorted by start, disjoint */
	size_t nr, cap;
};

/*
 * Reads /proc/PID/maps, only executable mappings if `executable_only`. -ESRCH if the process is
 * gone, -E2BIG for more than MAPPINGS_MAX. The caller owns *out.
 */
int mappings_read(pid_t pid, bool executable_only, struct mappings *out);

/* The mapping that holds `addr`, or NULL; valid until `all` changes. */
const struct mapping *mappings_find(const struct mappings *all, u64 addr);

/* Adds a copy of `m`. As after mmap, it replaces the parts of older mappings that it covers. */
void mappings_insert(struct mappings *all, const struct mapping *m);
void mappings_copy(const struct mappings *from, struct mappings *out);
void mappings_fini(struct mappings *all);

#define MAPPINGS_MAX 1000000
