/* SPDX-License-Identifier: Apache-2.0 */
/* The files of --loop: their names, and which of them --keep removes. */
#pragma once

#include <sys/types.h>

#include "base/str.h"
#include "base/types.h"
#include "base/vec.h"

/*
 * Appends the name of a part. In `pattern`, %t is the time at which the part began, %n its number,
 * %p the PID, %h the name of the node, %{NAME} a variable of the environment, and %% a percent
 * sign. -EINVAL and a sentence if the pattern has anything else, or %p without one process (`pid`
 * 0).
 */
int part_name(const char *pattern, u64 wall_ns, u32 number, pid_t pid, struct str *out,
	      struct str *why);

/* Whether two parts have different names: the pattern has %t or %n. */
bool part_names_differ(const char *pattern);

/* "90", "30s", "5m", "1h" or "1d". Returns false for other texts and for less than 1 s. */
bool part_duration_parse(const char *text, u64 *out_ns);

struct part_file {
	char *path; /* owned */
	u64 device, inode, size_bytes, changed_ns;
};

struct part_files {
	VEC(struct part_file) all; /* the oldest first */
};

/*
 * Takes in a file that was just written. Then removes the oldest ones until `keep` are left; 0
 * keeps all. A file that somebody has changed or replaced since stays, with a warning.
 */
void part_files_add(struct part_files *files, const char *path, size_t keep);
void part_files_fini(struct part_files *files);
