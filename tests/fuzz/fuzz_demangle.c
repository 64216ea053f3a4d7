/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile symbols: any bytes give a short name. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/types.h"
#include "sym/files/demangle.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	auto_free char *symbol = xstrndup((const char *)data, size);
	auto_str struct str out = { 0 };

	demangle(&out, symbol);
	if (out.len > DEMANGLE_MAX || strlen(out.at) != out.len)
		abort();
	return 0;
}
