/* SPDX-License-Identifier: Apache-2.0 */
/* A method: a frame without its tier. It is the name, the module, and whether it is Java. */
#pragma once

#include "profile/frames/frame.h"

bool frame_kind_is_java(enum frame_kind kind);

/* Orders frames (const frame_id *) by method; `frames` is the struct frames. For qsort_r. */
int frames_by_method(const void *a, const void *b, void *frames);

/* Returns for each frame one frame that stands for its whole method. The caller frees the array. */
frame_id *frames_methods(const struct frames *all);
