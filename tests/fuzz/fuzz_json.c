/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a profile in JSON, or a page of async-profiler, give a profile or one sentence. */
#include <stdlib.h>
#include <string.h>

#include "export/readers/read_html.h"
#include "export/readers/reader.h"

static void check(int err, const struct str *why)
{
	if (err ? !why->at || strchr(why->at, '\n') != NULL : why->len != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	auto_str struct str why = { 0 }, page = { 0 };
	FILE *f = size ? fmemopen((void *)data, size, "r") : NULL;
	struct profile *p = profile_new();
	struct input in;

	str_add_bytes(&page, data, size);
	if (async_html_is(&page)) {
		check(async_html_read(&page, p, &why), &why);
	} else if (f) {
		input_init(&in, f, NULL);
		if (!in.gunzip)
			check(json_read(&in, p, &why), &why);
		input_fini(&in);
	}
	profile_free(p);
	if (f)
		fclose(f);
	return 0;
}
