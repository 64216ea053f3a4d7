/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the slices of a time range out of a file of docs/slices-format.md. */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

/* The slices and label sets wanted. A text that is NULL accepts all. */
struct slice_query {
	u64 from_wall_ns, to_wall_ns; /* slices that begin in [from, to) */
	const char *service, *container, *pod, *comm;
	u32 pid; /* 0: all */
};

/*
 * Adds the slices to `p`: stacks, weights, and labels; start and duration cover the slices
 * read. The bytes may be compressed by zstd as a whole. A damaged end is left out, and a note
 * counts it. -EINVAL with a sentence if nothing can be read.
 */
int slices_read(const u8 *bytes, size_t len, const struct slice_query *q, struct profile *p,
		struct str *why);
