/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the results of workers that read files with native code. */
#include "sym/files/parse_symbols.h"

#include <errno.h>
#include <string.h>

int parsed_headers_take(const void *bytes, size_t nr, struct parsed_headers *out)
{
	if (nr != sizeof(*out))
		return -EBADMSG;
	memcpy(out, bytes, sizeof(*out));
	return out->build_id_len <= ELF_BUILD_ID_MAX && out->nr_segments <= PARSED_SEGMENTS_MAX
		       ? 0
		       : -EBADMSG;
}
