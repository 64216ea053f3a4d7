/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a turn, from several rings, sorted by time. A mapping must be known before a
 * sample in it is named.
 */
#pragma once

#include "abi.h"
#include "base/vec.h"
#include "capture/kernel/sideband.h"

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
	const void *record;     /* ITEM_PROCESS: struct process_record, ITEM_SAMPLE: struct sample,
				   ITEM_FREED: struct freed_record */
	struct side_event side; /* ITEM_SIDE; the item owns its path */
};

struct inbox {
	VEC(struct item) items;
	struct parcel *parcels; /* hold the records (receiver.h); returned by the caller after
				   inbox_clear */
	u32 malformed;          /* records of impossible kind or size: a bug */
};

/* `inbox` is the struct inbox. A record must stay in place until inbox_clear. */
void inbox_add_record(const void *record, size_t len, void *inbox);
void inbox_add_side(const struct side_event *e, void *inbox);
void inbox_sort(struct inbox *in);

void inbox_clear(struct inbox *in);
void inbox_fini(struct inbox *in);
