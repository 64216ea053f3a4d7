/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the store's files. */
#pragma once

#include "base/str.h"
#include "base/types.h"

#define FILE_NAME_BYTES 160

/* <yyyymmdd_HHMMSS>-<id>-<event>-<target>.sflm, in UTC. */
void profile_file_name(u64 start_ns, u64 id, const char *events, const char *target,
		       char name[FILE_NAME_BYTES]);

struct profile_file {
	u64 start_ns, id;
	char event[48], target[48];
};

/* Parses the name of a profile's file; false for any other name. */
bool profile_file_parse(const char *name, struct profile_file *out);

/* <yyyymmdd_HH>.sfls of an hour since 1970, in UTC. */
void hour_file_name(u64 hour, char name[FILE_NAME_BYTES]);
bool hour_file_parse(const char *name, u64 *hour);

/* <first>.sflm, or <first>-<last>.sflm after joining. */
struct part_range {
	u64 first, last;
};
void part_file_name(struct part_range range, char name[FILE_NAME_BYTES]);
bool part_file_parse(const char *name, struct part_range *out);
