/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are read as a JFR recording or refused with a sentence. */
#include <stdlib.h>
#include <string.h>

#include "export/readers/reader.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct profile *p = profile_new();
	auto_str struct str why = { 0 };
	FILE *f = fmemopen((void *)data, size ? size : 1, "r");
	struct input in;

	input_init(&in, f, NULL);
	if (!in.gunzip && jfr_read(&in, p, &why) && !why.len)
		abort();
	input_fini(&in);
	fclose(f);
	profile_free(p);
	return 0;
}
