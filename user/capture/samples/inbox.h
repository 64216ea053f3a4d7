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
	u32 size;                    /* of the record */
	bool is_held;                /* kept from the previous turn; the item owns its record */
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

/* `feed` is the struct inbox_feed. A record must stay in place until its turn is cleared. */
void inbox_add_record(const void *record, size_t len, void *feed);

/* `inbox` is the struct inbox. */
void inbox_add_side(const struct side_event *e, void *inbox);
void inbox_sort(struct inbox *in);

/*
 * Sorts `in` and moves its items to `turn`, which is empty, except those from `end_ns` on. These
 * are held for one more turn. Rings are read one after the other, so that the record of an exec may
 * be here before a sample that is older:
 *
 *   100  the turn begins; the ring of the samples is read
 *   110  `sh` is sampled: the sample waits in its ring
 *   120  the process executes `java`: a record in the node's ring
 *   130  the node's ring is read; it has the exec
 *
 * If the exec were applied in this turn, the sample of 110 would be named `java` in the next one.
 * With `end_ns` = 100 both are applied in the next turn, sorted by time.
 */
void inbox_begin_turn(struct inbox *in, u64 end_ns, struct inbox *turn);

/* Drops the items of a recording, whose records are about to be freed. */
void inbox_drop(struct inbox *in, const struct recording *recording);

void inbox_clear(struct inbox *in);
void inbox_fini(struct inbox *in);
