/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a record of docs/slices-format.md. Reading it needs no dictionary. */
#pragma once

#include "base/types.h"

#define SLICE_HEAD_BYTES 40

struct slice_head {
	u64 begin_wall_ns, end_wall_ns;
	u32 len;     /* of the whole record, head included */
	bool begins; /* a book begins */
};

/*
 * Reads the head at the start of `at`. -EAGAIN if the record is longer than `len`, -EINVAL if it is
 * damaged: wrong magic or checksum, or times out of order.
 */
int slice_head_read(const u8 *at, size_t len, struct slice_head *out);
