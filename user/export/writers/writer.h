/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a writable format. Each has one file and one entry in the table of export.c. */
#pragma once

#include <stdio.h>

#include "profile/profile.h"

struct format {
	const char *name;          /* for --format */
	const char *extensions[4]; /* without the first dot; NULL-terminated */
	const char *help;          /* a phrase for the help text */
	/*
	 * Writes the profile; the caller checks ferror. Returns 0 or a negative errno: -EDOM for a
	 * comparison that the format cannot hold, -E2BIG for more samples than it can.
	 */
	int (*write)(const struct profile *p, FILE *out);
	bool has_view;      /* applies the profile's `view`, transforms included */
	bool has_stacks;    /* shows stacks as text or picture, from either end */
	bool has_times;     /* each sample has a time: `record` keeps it */
	bool has_one_value; /* writes only the values of the first type */
};

int annotated_write(const struct profile *p, FILE *out);
int collapsed_write(const struct profile *p, FILE *out);
int firefox_write(const struct profile *p, FILE *out);
int html_write(const struct profile *p, FILE *out);
int jfr_write(const struct profile *p, FILE *out);
int otlp_write(const struct profile *p, FILE *out);
int pprof_write(const struct profile *p, FILE *out);
int speedscope_write(const struct profile *p, FILE *out);
int svg_write(const struct profile *p, FILE *out);
int text_write(const struct profile *p, FILE *out);
