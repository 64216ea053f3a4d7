/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which tasks are sampled. */
#pragma once

#include "maps.h"

/*
 * Whether a task, which the verifier must trust, is to be sampled: it is not the idle task, at
 * least one selector of every kind that is in use selects it, and none excludes it.
 */
bool target_is_wanted(struct task_struct *task);
