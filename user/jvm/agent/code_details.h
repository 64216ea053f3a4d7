/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about compiled code from HotSpot's tables, which the agent cannot report. */
#pragma once

#include "jvm/agent/codemap.h"
#include "jvm/hotspot/hotspot.h"

/* Finds the facts about code loaded since the last call. With `h` NULL it does nothing. */
void code_details_find(struct hotspot *h, struct codemap *map);
