/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel sent during a tick, from several rings, brought into the order of time: a mapping
 * must be known before the sample in it is named.
 */
#pragma once

#include "abi.h"
#include "base/vec.h"
#include "capture/sideband.h"

enum item_kind {
	ITEM_SIDE,
	ITEM_PROCESS,
	ITEM_SAMPLE,
	ITEM_FREED,
};

struct item {
	enum item_kind kind;
	u32 order; /* of arrival, for equal times */
	u64 time_ns;
	void *record;           /* ITEM_PROCESS: struct process_record, ITEM_SAMPLE: struct sample,
				   ITEM_FREED: struct freed_record */
	struct side_event side; /* ITEM_SIDE; its path is owned by the item */
};

struct inbox {
	VEC(struct item) items;
	size_t bytes;  /* of their records */
	u32 malformed; /* records of a kind or size that makes no sense: a bug */
};

/* Both copy what they get; `inbox` is the struct inbox. */
void inbox_add_record(const void *record, size_t len, void *inbox);
void inbox_add_side(const struct side_event *e, void *inbox);
void inbox_sort(struct inbox *in);

void inbox_clear(struct inbox *in);
void inbox_fini(struct inbox *in);

/* The user's frames, behind the kernel's; valid if there are any. */
static inline const struct user_frame *sample_user_frames(const struct sample *s)
{
	return (const struct user_frame *)((const u64 *)(s + 1) + s->nr_kernel);
}

/* The words behind a sample's head: nr_kernel pcs, then nr_user frames. */
static inline const u64 *sample_words(const struct sample *s)
{
	return (const u64 *)(s + 1);
}
