/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame around a profile's body (docs/profile-format.md): header, checksums and compression.
 */
#pragma once

#include "base/str.h"

/* Appends header and compressed body. -EINVAL if the body's table of sections does not fit it. */
int container_pack(const struct str *body, u32 nr_nodes, struct str *out);

/*
 * Appends the body of the container that `data` starts with. -EINVAL and a sentence in `why` if it
 * is none, is cut off, is damaged, or was written by a newer version.
 */
int container_unpack(const u8 *data, size_t len, struct str *body, struct str *why);

bool container_is(const u8 *data, size_t len);
