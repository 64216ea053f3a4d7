/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile's frames by the names that stacks are written with. Includes the frames that replacing
 * adds.
 */
#pragma once

#include "base/dict.h"
#include "base/vec.h"
#include "profile/frame.h"

#define FRAME_NONE UINT32_MAX
#define ADDED_MAX  (64u << 20) /* bytes of new names, as in the page */

struct framename {
	char *own; /* copy of a name that contains ';', with ':' instead, as ';' separates frames;
		      else NULL */
	const char *text;
	frame_id method;    /* one frame that stands for all tiers of the method */
	frame_id next_same; /* the next frame with the same text, FRAME_NONE at the end */
	u32 stack;          /* the last marked stack that contains it, and its depth there */
	u32 depth;
};

struct framenames {
	struct frames *frames;
	VEC(struct framename) all; /* by frame */
	struct dict by_text;       /* hash -> 1 + first frame of a text; equal hashes probe on */
	u32 stack;                 /* number of stacks marked so far */
	u64 added_bytes;           /* bytes of the names that replacing has added */
};

void framenames_init(struct framenames *n, struct frames *frames);
void framenames_fini(struct framenames *n);

/*
 * Marks the frames of a stack. framenames_named prefers them until the next call, the deepest one
 * first.
 */
void framenames_mark_stack(struct framenames *n, const frame_id *frames, u32 nr);

/*
 * Returns a frame of that name. It prefers a frame of the marked stack, then one of the kind and
 * module of `like` (FRAME_NONE: no preference), then any known one, then a new one. Returns
 * FRAME_NONE if the text is too long for a name, or if the new names take too many bytes.
 */
frame_id framenames_named(struct framenames *n, const char *text, frame_id like);
