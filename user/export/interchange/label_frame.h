/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels as the first frame of a stack, for formats that have stacks only:
 * "{route=/cart, thread=exec-1-77}", with the separators of tags.h.
 */
#pragma once

#include "export/interchange/named_label.h"
#include "profile/profile.h"

/* The frame's name for labels that `names` list, "{}" if these labels have none. The caller frees
 * it. */
char *label_frame_make(const struct labels *l, const struct named_label *all,
		       const char *const *names, size_t nr);

/*
 * Takes such frames out of the stacks and gives their labels to the stacks' weights. Frames of
 * nodes below `first_node` are those of other files and stay.
 */
void label_frames_take(struct profile *p, size_t first_node);
