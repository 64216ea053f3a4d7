/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels as one text, for formats that have no labels: "route=/cart, version=1.2", with the
 * separators of tags.h. In braces, it is the first frame of a stack.
 */
#pragma once

#include "export/interchange/named_label.h"
#include "profile/profile.h"

/* The frame's name for labels that `names` list, "{}" if these labels have none. The caller frees
 * it. */
char *label_frame_make(const struct labels *l, const struct named_label *all,
		       const char *const *names, size_t nr);

/* The text of all labels but process, thread, state and time. The caller frees it. */
char *label_text_make(const struct labels *l);

/* The label set with the labels of the text, and those of `base` that the text does not have. */
labels_id label_text_intern(struct profile *p, const char *text, const struct labels *base);

/*
 * Takes such frames out of the stacks and gives their labels to the stacks' weights. Frames of
 * nodes below `first_node` are those of other files and stay.
 */
void label_frames_take(struct profile *p, size_t first_node);
