/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an OTLP file give a profile or one sentence. */
#include <stdlib.h>
#include <string.h>

#include "export/readers/reader.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct profile *p = profile_new();
	auto_str struct str why = { 0 }, bytes = { 0 };

	str_add_bytes(&bytes, data, size);
	int err = otlp_read(&bytes, p, &why);
	if (err ? !why.at || strchr(why.at, '\n') != NULL : why.len != 0)
		abort();
	profile_free(p);
	return 0;
}
