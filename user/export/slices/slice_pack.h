/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses records of slices. */
#pragma once

#include "base/str.h"
#include "base/types.h"

/* Appends the zstd frame that holds the records. -EIO if the library fails. */
int slices_pack(const char *records, size_t len, struct str *out);
