// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Frames of a HotSpot code heap. Their rules are not written for arm64. Part of unwind/walk.h. */
#include "maps.h"
#include "unwind/walk.h"

int walk_set_frame(struct walk *w)
{
	return 0;
}

int walk_hotspot(struct walk *w)
{
	if (!w)
		return STAT_NO_SCRATCH;
	w->frame.info |= (u64)USER_FRAME_STUB << USER_FRAME_KIND_SHIFT;
	return STAT_STUB_FRAME;
}
