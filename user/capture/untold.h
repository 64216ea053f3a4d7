/* SPDX-License-Identifier: Apache-2.0 */
/* Events in Java code of which an agent does not tell. */
#pragma once

#include "capture/sources.h"
#include "jvm/agents.h"
#include "proc/process.h"

/* Has what stands in for the agent tell instead, and logs it. To be called often. */
void untold_fall_back(struct agents *agents, struct processes *processes, struct sources *sources);
