/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the slices of a file to longer ones. */
#pragma once

#include "base/str.h"
#include "base/types.h"

/*
 * Appends a compressed file to `out` that has one slice for each step of `step_ns` (since 1970).
 * A slice counts for the step in which it begins. Weights by stack, label set and type are those of
 * the file. -EINVAL and a sentence if a part is damaged: a later reader may understand more of the
 * file. -EOVERFLOW if a merged slice is too large for the format.
 */
int slices_thin(const u8 *bytes, size_t len, u64 step_ns, struct str *out, struct str *why);
