/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the JVM to attach to next. A user's processes hold at most a quarter of the places, and
 * one place after attaches that took long without success. A process that shows no VM has its turn
 * after all others. A place is held as long as the child of an attach runs.
 */
#pragma once

#include "base/types.h"
#include "base/vec.h"
#include "jvm/agent/agents_entry.h"

/* The next entry that may be attached to now; NULL if none. */
struct agents_entry *turns_next(struct agents *a, u64 now_ns);

/* Charges the user of `e` for an attach that took that long without success. */
void turns_charge(struct agents *a, const struct agents_entry *e, u64 took_ns);

/* An attach to `e` has left the process `pid` behind, which waits for memory of `e`. */
void turns_leave(struct agents *a, const struct agents_entry *e, pid_t pid);

/*
 * Whether too many processes left by turns_leave still wait for memory of the user of `e`: then no
 * further attach may begin. Root is exempt.
 */
bool turns_wait_for_memory(struct agents *a, const struct agents_entry *e);
