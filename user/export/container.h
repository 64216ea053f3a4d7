/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame around a profile's body (docs/profile-format.md): header, checksums, compression, and
 * base64 for the page.
 */
#pragma once

#include <stdio.h>

#include "base/str.h"

/* Appends header and compressed body. -EINVAL if the body's table of sections does not fit it. */
int container_pack(const struct str *body, u32 nr_nodes, struct str *out);

/*
 * Appends the body of the container that `data` starts with. -EINVAL and a sentence in `why` if it
 * is none, is cut off, is damaged, or was written by a newer version.
 */
int container_unpack(const u8 *data, size_t len, struct str *body, struct str *why);

bool container_is(const u8 *data, size_t len);

/* RFC 4648 section 4, with padding, without line breaks. */
void base64_write(const struct str *bytes, FILE *out);

/* Appends what the text holds up to its first foreign character; white space is skipped. */
void base64_read(const char *text, size_t len, struct str *out);
