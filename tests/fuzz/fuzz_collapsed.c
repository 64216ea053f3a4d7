/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text is read as stacks or as a comparison, and the profile can be encoded; or it is refused
 * with a sentence.
 */
#include <stdio.h>
#include <stdlib.h>

#include "export/format/encode.h"
#include "export/format/envelope.h"
#include "export/read.h"

static void check(const u8 *data, size_t size,
		  int (*read)(FILE *f, struct profile *p, struct str *why))
{
	struct profile *p = profile_new();
	auto_str struct str why = { 0 }, body = { 0 };
	FILE *f = size ? fmemopen((void *)data, size, "r") : fopen("/dev/null", "r");
	u32 nr_nodes;

	if (read(f, p, &why) ? !why.len : body_encode(p, NULL, &body, &nr_nodes))
		abort();
	fclose(f);
	profile_free(p);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	check(data, size, profile_read);
	check(data, size, profile_read_diff);
	return 0;
}
