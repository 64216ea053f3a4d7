/* SPDX-License-Identifier: Apache-2.0 */
/* Reads text as a profile, and compares its stacks in collapsed form. */
#pragma once

#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "export/read.h"

/* The caller frees the text. */
static inline char *collapsed(const struct profile *p)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(collapsed_write(p, f), 0);
	fclose(f);
	return text;
}

static inline struct profile *read_text(const char *text, int wanted_err, struct str *why)
{
	struct profile *p = profile_new();
	FILE *f = *text ? fmemopen((void *)text, strlen(text), "r") : fopen("/dev/null", "r");

	assert_int_equal(profile_read(f, p, why), wanted_err);
	fclose(f);
	return p;
}

static inline void assert_reads(const char *text, const char *wanted)
{
	auto_str struct str why = { 0 };
	struct profile *p = read_text(text, 0, &why);
	char *got = collapsed(p);

	assert_string_equal(got, wanted);
	free(got);
	profile_free(p);
}

static inline void assert_refused(const char *text, const char *part)
{
	auto_str struct str why = { 0 };
	struct profile *p = read_text(text, -EINVAL, &why);

	if (!strstr(why.at, part))
		fail_msg("\"%s\" lacks \"%s\"", why.at, part);
	profile_free(p);
}
