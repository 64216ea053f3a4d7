/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The user stack of the current task; docs/unwinding.md. */
#pragma once

#include "stack.h"

/* Appends the current task's user frames, leaf first, and returns why they ended (enum stat). */
u32 unwind_user(void *ctx, struct scratch *s);

/*
 * Walks from s->walk.regs, a leaf, with s->walk.proc's tables, appends the frames and returns why
 * they ended. Needs no BPF context: it runs on the host too.
 */
u32 unwind_walk(struct scratch *s);
