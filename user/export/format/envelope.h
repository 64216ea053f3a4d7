/* SPDX-License-Identifier: Apache-2.0 */
/* The container of a profile's body (docs/profile-format.md): header, checksums and compression. */
#pragma once

#include "base/str.h"

/* A file with more nodes for a byte is refused. */
#define NODES_PER_BYTE 16

/* As in the header. Browsers can read gzip only; zstd takes a fourth of its time to read. */
enum compression {
	COMPRESSED_NONE = 0,
	COMPRESSED_GZIP = 1,
	COMPRESSED_ZSTD = 2,
};

/*
 * Appends the header and the compressed body. Returns -EINVAL if the body's table of sections is
 * invalid.
 */
int envelope_pack(const struct str *body, u32 nr_nodes, enum compression how, struct str *out);

/*
 * Appends the body of the container at the start of `data`. Returns -EINVAL and a sentence in `why`
 * if there is no container, or if it is cut off, damaged or of a newer version.
 */
int envelope_unpack(const u8 *data, size_t len, struct str *body, struct str *why);

bool envelope_is(const u8 *data, size_t len);
