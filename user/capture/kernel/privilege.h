/* SPDX-License-Identifier: Apache-2.0 */
/* The rights of this process, and the message when one is missing. */
#pragma once

#include "base/types.h"

/* 0 if sampling can work; -EPERM if a capability is missing, -ENOENT without kernel BTF. */
int privilege_check(void);

/* Logs one line: the step `what` that failed, the missing right, the remedy. */
void privilege_explain(const char *what, int err);
