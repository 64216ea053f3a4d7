/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as output of perf script gives a profile or one sentence. */
#include <stdlib.h>
#include <string.h>

#include "export/readers/reader.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	auto_str struct str why = { 0 };
	struct input in;
	FILE *f = size ? fmemopen((void *)data, size, "r") : NULL;

	if (!f)
		return 0;
	struct profile *p = profile_new();
	input_init(&in, f, NULL);
	perf_is(in.head, in.nr_head);
	int err = perf_read(&in, p, &why);
	if (err ? !why.at || strchr(why.at, '\n') != NULL : why.len != 0)
		abort();
	input_fini(&in);
	profile_free(p);
	fclose(f);
	return 0;
}
