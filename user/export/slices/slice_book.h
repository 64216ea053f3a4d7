/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the records of a book, whose dictionary it keeps. Records may be hostile. */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "base/vec.h"
#include "export/slices/slice_record.h"
#include "profile/labels.h"
#include "profile/profile.h"

struct book_type {
	u32 name, unit; /* index into the names */
	enum value_role role;
	u32 own; /* index + 1 in the profile; 0 if not yet there */
};

struct book_frame {
	u32 name, module, file; /* module and file: index + 1, or 0 */
	u32 line;
	u8 kind;
	bool is_inlined;
	u32 own; /* id + 1 in the profile; 0 if not yet there */
};

struct book_node {
	u32 parent, frame;
	u32 depth;
	node_id own; /* in the profile; NODE_NONE if not yet there */
};

struct book_set {
	u32 pid, tid;
	u32 text[NR_LABELS]; /* index + 1, or 0 */
	bool is_known, is_wanted;
	labels_id own; /* in the profile, for the time slot `own_slot`, if is_known */
	u64 own_slot;
};

struct book_note {
	u32 key, text; /* text: index + 1, or 0 */
	u64 value;
};

/* The callees of a context: the frame of the parent, or the root. */
struct book_context {
	VEC(u32) callees; /* frames in the order of their places */
};

/* A weight in the book's numbers. */
struct book_weight_read {
	u32 set, node, type;
	u64 value;
};

struct slice_book {
	struct str texts; /* the names, each with a NUL at its end */
	VEC(u32) names;   /* offset in `texts` */
	VEC(int) dims;    /* enum label of each dimension; -1: unknown */
	VEC(struct book_type) types;
	VEC(struct book_frame) frames;
	VEC(struct book_node) nodes; /* [0] is the root */
	VEC(struct book_set) sets;
	VEC(struct book_context) contexts; /* by frame of the parent + 1; [0] is the root's */
	u32 fresh_name, fresh_frame;

	/* Of the last record. */
	double rate_hz;
	u32 host, target; /* index + 1, or 0 */
	VEC(struct book_note) notes;
	VEC(struct book_weight_read) weights;
};

void slice_book_fini(struct slice_book *b);

/*
 * Decodes a record after its head. The first one of a book needs an empty `b`. -EINVAL if it is
 * damaged; the book is then of no more use.
 */
int slice_book_read(struct slice_book *b, const u8 *body, size_t len);

/* Valid until the next record. */
const char *slice_book_name(const struct slice_book *b, u32 index);

/* The text of an optional name, "" for 0. */
const char *slice_book_text(const struct slice_book *b, u32 index_plus_one);
