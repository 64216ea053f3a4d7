/* SPDX-License-Identifier: Apache-2.0 */
/* The files of --loop, of which --keep removes the oldest. */
#pragma once

#include "base/types.h"
#include "base/vec.h"

struct part_file {
	char *path; /* owned */
	u64 device, inode, size_bytes, changed_ns;
};

struct part_files {
	VEC(struct part_file) all; /* the oldest first */
};

/*
 * Takes in a file that was just written. Then removes the oldest ones until `keep` are left; 0
 * keeps all. A file that is not the written one any more stays, with a warning.
 */
void part_files_add(struct part_files *files, const char *path, size_t keep);
void part_files_fini(struct part_files *files);
