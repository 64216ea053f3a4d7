/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of a profile with the numbers that the format gives them. */
#pragma once

#include "base/str.h"
#include "profile/frame.h"

struct listed_frame {
	enum frame_kind kind;
	u32 name, module; /* indexes into the sorted names; module + 1, 0 for none */
	u32 file;         /* as module */
	u32 method;       /* a frame that stands for all tiers of one Java method */
	u32 rank;
	u64 nr_nodes;   /* of the output that use it: the caller counts */
	bool is_used;   /* the caller sets it before framelist_sort_names */
	bool has_tiers; /* the method is there in several tiers */
};

struct framelist {
	const struct frames *frames;
	struct listed_frame *all; /* by frame_id */
	const char **names;       /* distinct, sorted by bytes */
	u32 nr, nr_names;
};

void framelist_init(struct framelist *l, const struct frames *frames);
void framelist_fini(struct framelist *l);

/* Numbers the names and finds the methods of the used frames. */
void framelist_sort_names(struct framelist *l);

/* The order of frames of equal weight: by name, kind, module. */
int framelist_compare(const struct framelist *l, frame_id a, frame_id b);

/* Ranks the frames by nr_nodes. */
void framelist_rank(struct framelist *l);

/*
 * Appends the sections NAMES, FRAMES, MODULES and LINES; the last two stay empty if no frame has
 * one.
 */
void framelist_write(const struct framelist *l, struct str *names, struct str *frames,
		     struct str *modules, struct str *lines);
