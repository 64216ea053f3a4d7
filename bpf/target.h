/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which tasks are sampled. */
#pragma once

#include "maps.h"

/*
 * Whether to sample a task, which must be a pointer that the verifier trusts. True unless it is the
 * idle task, is excluded, or a kind of selector in use has no selector that matches it.
 */
bool target_is_wanted(struct task_struct *task);
