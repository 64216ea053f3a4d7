/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles in files that a person names; what goes wrong is told to standard error. */
#pragma once

#include "export/export.h"
#include "profile/profile.h"

/* Adds what the file holds; "-" is standard input. */
int profile_file_read(const char *path, struct profile *p);

/* The same of a file that holds a comparison (export/read.h). */
int profile_file_read_diff(const char *path, struct profile *p);

/* By name if it is not NULL, else by the extension of `path`; NULL if there is no such format. */
const struct format *profile_file_format(const char *name, const char *path);

/* "-" is standard output. *size_bytes may be NULL. */
int profile_file_write(const struct profile *p, const char *path, const struct format *f,
		       u64 *size_bytes);

static inline void auto_profile_run(struct profile **p)
{
	profile_free(*p);
}
#define auto_profile __attribute__((cleanup(auto_profile_run)))
