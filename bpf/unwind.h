/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The user stack of the current task. */
#pragma once

#include "stack.h"

/* Appends the current task's user frames, leaf first, and returns why they ended (enum stat). */
u32 unwind_user(void *ctx, struct scratch *s);
