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
	/* Of a recording: */
	ITEM_SELECTION,
	ITEM_SAMPLE,
	ITEM_FREED,
};

struct recording;

struct item {
	enum item_kind kind;
	u32 order; /* of arrival, for equal times */
	u64 time_ns;
	const void *record;          /* ITEM_PROCESS: struct process_record, ITEM_SELECTION: struct
					selection_record, ITEM_SAMPLE: struct sample, ITEM_FREED: struct
					freed_record */
	struct recording *recording; /* whose ring held the record; NULL: the node's */
	struct side_event side;      /* ITEM_SIDE; the item owns its path */
};

struct inbox {
	VEC(struct item) items;
	u32 malformed; /* records of impossible kind or size: a bug */
};

/* An inbox, and the owner of the ring that feeds it. */
struct inbox_feed {
	struct inbox *inbox;
	struct recording *recording; /* NULL: the node */
};

/* `feed` is the struct inbox_feed. A record must stay in place until inbox_clear. */
void inbox_add_record(const void *record, size_t len, void *feed);

/* `inbox` is the struct inbox. */
void inbox_add_side(const struct side_event *e, void *inbox);
void inbox_sort(struct inbox *in);

/* Drops the items of a recording, whose records are about to be freed. */
void inbox_drop(struct inbox *in, const struct recording *recording);

void inbox_clear(struct inbox *in);
void inbox_fini(struct inbox *in);
