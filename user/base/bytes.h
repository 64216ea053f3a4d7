/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of bytes as people write them. */
#pragma once

#include "base/types.h"

/*
 * Parses "524288", "512k", "1m", "2g" or "1t", also with a capital. Returns false if the text is
 * something else or above 2^62.
 */
bool bytes_parse(const char *text, u64 *out);
