/* SPDX-License-Identifier: Apache-2.0 */
/* From a sample of the kernel's programs to the stack that is to be named. */
#pragma once

#include "abi.h"
#include "base/vec.h"
#include "sym/symbolize.h"

typedef VEC(struct raw_frame) raw_frames;

/*
 * The sample's stack without `skip` frames of the kernel's leaf end. It points into the sample and
 * *user, which is overwritten.
 */
struct raw_stack raw_stack_of(const struct sample *sample, size_t skip, raw_frames *user);

/* Whether the caller of one of its frames was searched or assumed, so that one may be missing. */
bool raw_is_approximate(const struct sample *sample);
