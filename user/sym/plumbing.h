/* SPDX-License-Identifier: Apache-2.0 */
/* The frames between the object of an allocation or a wait and the code that asked for it. */
#pragma once

#include "sym/symbolize.h"

/*
 * Drops the frames between a class and the Java frame that requested the object, from index `first`
 * on: the agent, libjvm and its stubs. They are always the same and hide the requesting frame.
 */
void plumbing_drop(const struct frames *all, size_t first, frame_list *frames,
		   unnamed_list *unnamed);
