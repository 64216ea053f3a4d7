/* SPDX-License-Identifier: Apache-2.0 */
/* What a Java thread parked for, by its stack. */
#pragma once

#include "sym/symbolize.h"

/*
 * If the stack begins with SYMBOLIZE_PARKED: false unless the thread parked for a lock. Else the
 * leaf becomes the lock's class, and how java.util.concurrent waits is left out.
 */
bool lockstack_name(struct symbolizer *s, const struct frames *all, frame_list *frames);
