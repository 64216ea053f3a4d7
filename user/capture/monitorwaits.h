/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for Java monitors of which an agent will tell when they are over, for those that never are.
 * For the kernel such a wait is many: before JDK 24 HotSpot has one of the threads that wait for a
 * monitor look again after 1, 8, 64 .. ms, every second at most (ObjectMonitor::EnterI).
 */
#pragma once

#include "base/dict.h"

struct monitorwaits {
	struct dict since, until; /* by thread id; CLOCK_MONOTONIC */
};

/* The thread waited from one time to the other, and goes on or not. */
void monitorwaits_add(struct monitorwaits *all, u32 tid, u64 since_ns, u64 until_ns);

/* The agent has told of the thread's wait. */
void monitorwaits_end(struct monitorwaits *all, u32 tid);

/* When the wait began of which `since_ns` is the begin for the kernel. */
u64 monitorwaits_since(const struct monitorwaits *all, u32 tid, u64 since_ns);

void monitorwaits_fini(struct monitorwaits *all);
