/* SPDX-License-Identifier: Apache-2.0 */
/* What a Java thread waits for, by its stack. */
#pragma once

#include "sym/symbolize.h"

enum lockstack {
	LOCKSTACK_NONE,    /* no lock */
	LOCKSTACK_MONITOR, /* some monitor; takes libjvm's symbols */
	LOCKSTACK_LOCK,    /* a lock of java.util.concurrent or of the same make */
};

/*
 * Says what the thread waits for whose stack that is, leaf first. If that is a lock, its class, or
 * "[monitor]", becomes the leaf, and how it waits is left out.
 */
enum lockstack lockstack_name(struct symbolizer *s, const struct frames *all, frame_list *frames);
