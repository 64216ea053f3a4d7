/* SPDX-License-Identifier: Apache-2.0 */
/* A method is what a frame is without its tier: its name, its module, and whether it is Java. */
#pragma once

#include "profile/frame.h"

bool frame_kind_is_java(enum frame_kind kind);

/* Orders frames (const frame_id *) by method; `frames` is the struct frames. For qsort_r. */
int frames_by_method(const void *a, const void *b, void *frames);

/* For each frame one that stands for all of its method; the caller frees the array. */
frame_id *frames_methods(const struct frames *all);
