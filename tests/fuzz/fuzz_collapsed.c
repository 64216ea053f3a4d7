/* SPDX-License-Identifier: Apache-2.0 */
/* Any text is read as stacks whose profile can be encoded, or refused with a sentence. */
#include <stdio.h>
#include <stdlib.h>

#include "export/container.h"
#include "export/encode.h"
#include "export/read.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct profile *p = profile_new();
	auto_str struct str why = { 0 }, body = { 0 };
	FILE *f = size ? fmemopen((void *)data, size, "r") : fopen("/dev/null", "r");
	u32 nr_nodes;

	if (profile_read(f, p, &why) ? !why.len : body_encode(p, NULL, &body, &nr_nodes))
		abort();
	fclose(f);
	profile_free(p);
	return 0;
}
