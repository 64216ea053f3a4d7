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
	bool deleted;     /* the path no longer leads to this file */
	const char *path; /* in a list: of path_new; "" for anonymous memory, "[vdso]", ...; without
			     " (deleted)" */
};

struct mappings {
	struct mapping *at; /* sorted by start, disjoint */
	size_t nr, cap;
};

/*
 * Reads /proc/PID/maps, only executable mappings if `executable_only`. -ESRCH if the process is
 * gone, -E2BIG if the list takes more than MAPPINGS_BYTES_MAX. The caller owns *out.
 */
int mappings_read(pid_t pid, bool executable_only, struct mappings *out);

/* The same with another limit for mappings_bytes. */
int mappings_read_within(pid_t pid, bool executable_only, size_t bytes_max, struct mappings *out);

/* The memory that the list takes. Paths count once for each run of mappings that have them. */
size_t mappings_bytes(const struct mappings *all);

/* The mapping that holds `addr`, or NULL; valid until `all` changes. */
const struct mapping *mappings_find(const struct mappings *all, u64 addr);

/* Adds a copy of `m`. As after mmap, it replaces the parts of older mappings that it covers. */
void mappings_insert(struct mappings *all, const struct mapping *m);
void mappings_copy(const struct mappings *from, struct mappings *out);
void mappings_fini(struct mappings *all);

#define MAPPINGS_BYTES_MAX (64u << 20)
