/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about compiled code from HotSpot's tables, which the agent cannot report. */
#pragma once

#include "jvm/agent/codemap.h"
#include "jvm/hotspot/hotspot.h"

/*
 * These functions find the facts about: the code compiled since the last call; all code whose facts
 * have not been looked for; the code that codemap_find would find. With `h` NULL they do nothing.
 */
void code_details_find(struct hotspot *h, struct codemap *map);
void code_details_find_unread(struct hotspot *h, struct codemap *map);
void code_details_find_at(struct hotspot *h, struct codemap *map, u64 pc, u64 time_ns,
			  u32 compile_id);
