/* SPDX-License-Identifier: Apache-2.0 */
/* What this process may do, and what to tell the user when it may not. */
#pragma once

#include "base/types.h"

/* Whether we have a capability (CAP_.. of linux/capability.h) in effect. */
bool privilege_has(int capability);

/* 0 if sampling can work; -EPERM for a missing capability, -ENOENT without kernel BTF. */
int privilege_check(void);

/* Logs one line: what failed, what is missing, the remedy. */
void privilege_explain(const char *what, int err);
