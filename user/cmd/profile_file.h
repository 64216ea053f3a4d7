/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles in files named on the command line. Errors are logged. */
#pragma once

#include "base/types.h"
#include "export/export.h"
#include "profile/profile.h"

/* Adds the contents of the file to a profile; "-" is standard input. */
int profile_file_read(const char *path, struct profile *p);

/* As profile_file_read, for a file that holds a comparison (export/read.h). */
int profile_file_read_diff(const char *path, struct profile *p);

/* Whether `path`, which may be NULL, is a folder; then logs it. */
bool profile_file_is_folder(const char *path);

/* Finds a format by `name`, or by the extension of `path` if `name` is NULL. NULL if unknown. */
const struct format *profile_file_format(const char *name, const char *path);

/*
 * Logs an error and returns -EINVAL if one of these options is given without -o. `output`, `format`
 * and `title` may be NULL.
 */
int profile_file_check_output(const char *output, const char *format, const char *title,
			      bool force);

/* Logs why `path` cannot be written, before there is a profile. Negative errno. */
int profile_file_try(const char *path, bool force);

/* `path` and `force` as for outfile_open (base/file.h). *size_bytes may be NULL. */
int profile_file_write(const struct profile *p, const char *path, const struct format *f,
		       bool force, u64 *size_bytes);

/*
 * Writes to the first free name among PATH, PATH with "-2" before its extension, "-3", .. Existing
 * files stay. The caller frees *written, which is set when 0 is returned.
 */
int profile_file_write_new(const struct profile *p, const char *path, const struct format *f,
			   char **written, u64 *size_bytes);

/*
 * After `path` could not be written: writes under another name there, else in a folder that has
 * room, and logs which. The caller frees *written.
 */
int profile_file_rescue(const struct profile *p, const char *path, const struct format *f,
			char **written, u64 *size_bytes);

/* -o and --format of the commands that convert files. */
#define OUTPUT_OPT(out)                                                                    \
	{                                                                                  \
		'o', "output", OPT_STRING, out, "FILE", "write FILE; - is standard output" \
	}
#define FORMAT_OPT(out)                                                  \
	{                                                                \
		0, "format", OPT_STRING, out, "NAME",                    \
			"use this format (default: by FILE's extension)" \
	}
#define FORCE_OPT(out)                                                             \
	{                                                                          \
		0, "force", OPT_BOOL, out, NULL, "let -o overwrite a block device" \
	}

/*
 * Tries to create a file beside the output without CAP_DAC_OVERRIDE, for example as root in the
 * folder of a user. Also true if the output would replace a file of another user in a sticky
 * folder.
 */
bool output_needs_rights(const char *path, bool force);
