/* SPDX-License-Identifier: Apache-2.0 */
/* What HotSpot's tables know of compiled code and the agent cannot report. */
#pragma once

#include "jvm/codemap.h"
#include "jvm/hotspot.h"

/* Asks them for what has been loaded since the last call. `h` NULL: there is nobody to ask. */
void facts_find(struct hotspot *h, struct codemap *map);
