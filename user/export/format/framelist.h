/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of a profile with their numbers in the format. */
#pragma once

#include "base/str.h"
#include "profile/frame.h"

struct listed_frame {
	enum frame_kind kind;
	u32 name, module; /* index into the sorted names; module: index + 1, 0 if unknown */
	u32 file;         /* like `module` */
	u32 method;       /* a frame that stands for all tiers of a Java method */
	u32 rank;
	u64 nr_nodes;   /* nodes of the output that use it; counted by the caller */
	bool is_used;   /* set by the caller before framelist_sort_names */
	bool has_tiers; /* the method occurs in several tiers */
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

/* Orders frames of equal weight: by name, kind, module. */
int framelist_compare(const struct framelist *l, frame_id a, frame_id b);

/* Ranks the frames by nr_nodes. */
void framelist_rank(struct framelist *l);

/*
 * Appends the sections NAMES, FRAMES, MODULES and LINES. MODULES or LINES stays empty if no frame
 * has a module or line.
 */
void framelist_write(const struct framelist *l, struct str *names, struct str *frames,
		     struct str *modules, struct str *lines);
