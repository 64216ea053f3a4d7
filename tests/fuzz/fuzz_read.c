/* SPDX-License-Identifier: Apache-2.0 */
/* Any file, compressed or not, is recognised and gives a profile, one sentence, or both. */
#include <stdlib.h>
#include <string.h>

#include "export/read.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	auto_str struct str why = { 0 };
	FILE *f = size ? fmemopen((void *)data, size, "r") : NULL;

	if (!f)
		return 0;
	struct profile *p = profile_new();
	int err = profile_read(f, p, &why);
	if ((err && !why.len) || (why.len && strchr(why.at, '\n')))
		abort();
	profile_free(p);
	fclose(f);
	return 0;
}
