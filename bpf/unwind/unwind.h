/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The user stack of the current task; docs/unwinding.md. */
#pragma once

#include "stack.h"

/* Appends the current task's user frames, leaf first. Returns why they ended (enum stat_id). */
u32 unwind_user(void *ctx, struct scratch *s);

/*
 * Walks from s->walk.regs, a leaf, by the tables of s->walk.proc, and appends the frames. Returns
 * why they ended. It needs no BPF context and also runs on the host.
 */
u32 unwind_walk(struct scratch *s);
