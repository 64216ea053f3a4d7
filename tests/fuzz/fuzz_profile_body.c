/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a profile's body are decoded or refused with a sentence. A decoded body encodes to
 * bytes that stay the same when decoded and encoded again.
 */
#include <stdlib.h>
#include <string.h>

#include "export/format/decode.h"
#include "export/format/encode.h"

static bool reencode(const u8 *data, size_t size, struct str *out)
{
	struct profile *p = profile_new();
	auto_str struct str why = { 0 };
	u32 nr_nodes;
	int err = body_decode(data, size, p, &why);

	if (err && !why.len)
		abort();
	bool is_good = !err && !body_encode(p, NULL, out, &nr_nodes);
	profile_free(p);
	return is_good;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	auto_str struct str once = { 0 }, twice = { 0 };

	if (!reencode(data, size, &once))
		return 0;
	if (!reencode((const u8 *)once.at, once.len, &twice))
		abort();
	if (once.len != twice.len || memcmp(once.at, twice.at, once.len))
		abort();
	return 0;
}
