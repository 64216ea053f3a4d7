/* SPDX-License-Identifier: Apache-2.0 */
/* A limit for the numbers of traces and spans, of which a profile may have one for each sample. */
#pragma once

#include "profile/profile.h"

/* Bytes of the texts of traces and their spans in a file: 87,381 traces of one span. */
#define TRACES_MAX_BYTES (4u << 20)

/* The key of the note that counts the traces left out, and its text. */
#define TRACES_LEFT_OUT      "traces_left_out"
#define TRACES_LEFT_OUT_TEXT "traces left out, the oldest first; their samples are kept"

/*
 * Chooses the traces that exceed `max_bytes`, the oldest first: those whose last sample is the
 * earliest, or without times those that the profile got first. Sets is_out[id] for their label
 * sets. `used` has a byte by labels_id: others do not count. Returns the number of these traces.
 */
u64 traces_limit(const struct profile *p, const u8 *used, u64 max_bytes, u8 *is_out);
