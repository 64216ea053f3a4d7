/* SPDX-License-Identifier: Apache-2.0 */
/* The formats a profile can be written in: a table, one entry and one file per format. */
#pragma once

#include <stdio.h>

#include "profile/profile.h"

struct format {
	const char *name;          /* for --format */
	const char *extensions[4]; /* without the first dot; NULL-terminated */
	const char *help;          /* a phrase for --help */
	/* Writes the profile; the caller checks ferror. Returns a negative errno if it cannot. */
	int (*write)(const struct profile *p, FILE *out);
	bool has_view;      /* shows the profile as its `view` says, transforms included */
	bool has_one_value; /* only that of the first type */
};

/* All formats, ended by an entry without a name. */
extern const struct format formats[];

const struct format *format_by_name(const char *name);

/* By the extension of `path`, NULL if it has none of ours. */
const struct format *format_by_path(const char *path);

int annotated_write(const struct profile *p, FILE *out);
int collapsed_write(const struct profile *p, FILE *out);
int firefox_write(const struct profile *p, FILE *out);
int html_write(const struct profile *p, FILE *out);
int otlp_write(const struct profile *p, FILE *out);
int pprof_write(const struct profile *p, FILE *out);
int speedscope_write(const struct profile *p, FILE *out);
int svg_write(const struct profile *p, FILE *out);
int text_write(const struct profile *p, FILE *out);
