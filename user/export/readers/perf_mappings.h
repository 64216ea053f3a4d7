/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings that `perf script --show-mmap-events` prints. Private to read_perf.c. */
#pragma once

#include "base/dict.h"
#include "base/vec.h"

struct perf_mapping {
	u64 start, end, file_off;
	u32 earlier; /* the process's mapping before, plus one; 0: none */
};

struct perf_mappings {
	VEC(struct perf_mapping) all;
	struct dict last; /* pid -> its last mapping, plus one */
};

/* Adds the mapping if the line is its record. */
void perf_mappings_add(struct perf_mappings *m, const char *line, size_t len);

/* Finds the offset of an address in its file. Returns false if the mapping is not known. */
bool perf_mappings_find(const struct perf_mappings *m, u32 pid, u64 address, u64 *offset);
void perf_mappings_fini(struct perf_mappings *m);
