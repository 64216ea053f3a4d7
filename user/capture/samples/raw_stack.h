/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a BPF sample to the stack that the symbolizer takes. */
#pragma once

#include "abi.h"
#include "base/vec.h"
#include "sym/symbolize.h"

typedef VEC(struct raw_frame) raw_frames;

/*
 * The sample's stack without its first `skip` kernel frames, counted from the leaf. It points into
 * the sample and *user, which is overwritten.
 */
struct raw_stack raw_stack_of(const struct sample *sample, size_t skip, raw_frames *user);

/* The pc of the outermost user frame; 0 if there is no user frame. */
u64 raw_stack_root_pc(const struct sample *sample);

/* Whether the caller of a frame was searched or assumed. A caller may then be missing. */
bool raw_stack_is_approximate(const struct sample *sample);
