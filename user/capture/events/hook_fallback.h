/* SPDX-License-Identifier: Apache-2.0 */
/* Events in Java code that an agent does not report. */
#pragma once

#include "capture/events/sources.h"
#include "jvm/agent/agents.h"
#include "proc/process.h"

/* Attaches the fallback probes for such events, and logs it. Call it often. */
void hook_fallback_update(struct agents *agents, struct processes *processes,
			  struct sources *sources);
