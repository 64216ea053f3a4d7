/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a record of docs/slices-format.md. Reading it needs no dictionary. */
#pragma once

#include "base/types.h"

#define SLICE_HEAD_BYTES 40
#define SLICE_RECORD_MAX (64u << 20) /* bytes of a record */

/* Limits of a book. */
#define SLICE_NODES_MAX      (1u << 20)
#define SLICE_FRAMES_MAX     (1u << 20)
#define SLICE_NAMES_MAX      (1u << 20)
#define SLICE_NAME_BYTES_MAX (64u << 20)
#define SLICE_SETS_MAX       (1u << 18)
#define SLICE_TYPES_MAX      256
#define SLICE_NOTES_MAX      256 /* of a record */
/* key of a note: the time that the slice covers, if not all of its span */
#define SLICE_COVERED "covered_ns"

struct slice_head {
	u64 begin_wall_ns, end_wall_ns;
	u32 len;          /* of the whole record, head included */
	u32 book, number; /* number of the book; place of the record in the book */
	bool begins;      /* a book begins: number is 0 */
};

/*
 * Reads the head at the start of `at`. -EAGAIN if the record is longer than `len`, -EINVAL if it is
 * damaged: wrong magic or checksum, or times out of order.
 */
int slice_head_read(const u8 *at, size_t len, struct slice_head *out);

/* Writes the head of a complete record of head->len bytes, with its checksum. */
void slice_head_write(const struct slice_head *head, u8 *record);

/*
 * The offset of the first undamaged record, or `len` if there is none. *budget is reduced by the
 * bytes that were looked at; nothing more is found once it is 0.
 */
size_t slice_find(const u8 *at, size_t len, u64 *budget);
