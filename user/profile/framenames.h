/* SPDX-License-Identifier: Apache-2.0 */
/* A profile's frames by the names that stacks are written with, and those that replacing adds. */
#pragma once

#include "base/dict.h"
#include "base/vec.h"
#include "profile/frame.h"

#define FRAME_NONE UINT32_MAX
#define ADDED_MAX  (64u << 20) /* bytes of new names, as in the page */

struct framename {
	char *own; /* a name's own ';' as ':', which must not look like the next frame; or NULL */
	const char *text;
	frame_id method;    /* stands for all tiers */
	frame_id next_same; /* the next frame of that text, FRAME_NONE at the end */
	u32 stack;          /* the last stack that had it, and at which depth */
	u32 depth;
};

struct framenames {
	struct frames *frames;
	VEC(struct framename) all; /* by frame */
	struct dict by_text;       /* hash -> 1 + first frame of a text; equal hashes probe on */
	u32 stack;                 /* counts the stacks that were marked */
	u64 added_bytes;           /* of the names that replacing has added */
};

void framenames_init(struct framenames *n, struct frames *frames);
void framenames_fini(struct framenames *n);

/* Frames that framenames_named prefers until the next call, the deepest one first. */
void framenames_mark_stack(struct framenames *n, const frame_id *frames, u32 nr);

/*
 * The frame of that name: one of the marked stack, or one like `like` (FRAME_NONE: nothing), or
 * another known one, or a new one; FRAME_NONE if the text is too long for a name, or all new ones
 * are.
 */
frame_id framenames_named(struct framenames *n, const char *text, frame_id like);
