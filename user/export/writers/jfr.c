/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one chunk of JDK Flight Recorder's format: a header, the description of its types, all
 * constants, the events (docs/formats.md, "JFR").
 * Part of export/writers/writer.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/writers/jfr_parts.h"
#include "export/writers/jfr_words.h"
#include "export/writers/writer.h"
#include "profile/diff.h"

#define HEADER_BYTES    68
#define TICKS_PER_S     1000000000
#define COMPRESSED_INTS 1
#define CHUNK_MAX       (1u << 30) /* limit of our reader; other readers stop at 2 GB */

static void add_header(const struct profile *p, u64 types_at, u64 pools_at, u64 len,
		       struct str *out)
{
	str_add_bytes(out, "FLR", 4);
	jfr_add_bytes(out, 2, 2); /* version 2.0: JDK 11 and later */
	jfr_add_bytes(out, 0, 2);
	jfr_add_bytes(out, len, 8);
	jfr_add_bytes(out, pools_at, 8);
	jfr_add_bytes(out, types_at, 8);
	jfr_add_bytes(out, p->start_wall_ns, 8);
	jfr_add_bytes(out, p->duration_ns, 8);
	jfr_add_bytes(out, 0, 8); /* ticks count from the start */
	jfr_add_bytes(out, TICKS_PER_S, 8);
	jfr_add_bytes(out, COMPRESSED_INTS, 4); /* its first byte: the chunk is complete */
}

int jfr_write(const struct profile *p, FILE *out)
{
	auto_str struct str header = { 0 }, types = { 0 }, pools = { 0 };
	struct jfr_pools constants;

	if (profile_is_diff(p))
		return -EDOM;
	jfr_pools_init(&constants, p);
	u64 events_bytes = 0;
	int err = jfr_write_events(p, &constants, NULL, &events_bytes);
	jfr_add_types(&types, constants.has_labels);
	jfr_add_pools(&constants, &pools);
	u64 types_at = HEADER_BYTES, pools_at = types_at + types.len,
	    len = pools_at + pools.len + events_bytes;
	if (!err && len > CHUNK_MAX)
		err = -E2BIG;
	if (!err) {
		add_header(p, types_at, pools_at, len, &header);
		fwrite(header.at, 1, header.len, out);
		fwrite(types.at, 1, types.len, out);
		fwrite(pools.at, 1, pools.len, out);
		err = jfr_write_events(p, &constants, out, &events_bytes);
	}
	jfr_pools_fini(&constants);
	return err;
}
