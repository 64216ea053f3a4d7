/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles as the bytes of a format. */
#pragma once

#include "test.h"

#include "base/str.h"
#include "export/export.h"

/* The caller frees the bytes. */
static inline struct str written(const struct profile *p, const char *format)
{
	struct str bytes = { 0 };
	FILE *f = open_memstream(&bytes.at, &bytes.len);

	assert_int_equal(format_by_name(format)->write(p, f), 0);
	fclose(f);
	return bytes;
}
