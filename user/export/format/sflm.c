/* SPDX-License-Identifier: Apache-2.0 */
/* Files of our own format. */
#include "export/format/sflm.h"

#include "export/format/encode.h"
#include "export/format/envelope.h"

int sflm_write(const struct profile *p, struct str *out)
{
	auto_str struct str body = { 0 };
	u32 nr_nodes;

	return body_encode(p, "sysflame " SYSFLAME_VERSION, &body, &nr_nodes)
		       ?: envelope_pack(&body, nr_nodes, COMPRESSED_ZSTD, out);
}
