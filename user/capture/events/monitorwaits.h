/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for Java monitors that still last when recording ends; agents report only completed ones.
 * To the kernel such a wait is a series of waits. Before JDK 24 one of the threads that wait for a
 * monitor checks it after 1, 8, 64 .. ms, at least every second (ObjectMonitor::EnterI).
 */
#pragma once

#include "base/dict.h"

struct monitorwaits {
	struct dict since, until; /* by thread id; CLOCK_MONOTONIC */
};

/* The thread waited during [since_ns, until_ns]. The wait for the monitor may go on. */
void monitorwaits_add(struct monitorwaits *all, u32 tid, u64 since_ns, u64 until_ns);

/* The agent has reported the thread's wait. */
void monitorwaits_end(struct monitorwaits *all, u32 tid);

/* The begin of the wait for the monitor, given the begin of the kernel's wait in `since_ns`. */
u64 monitorwaits_since(const struct monitorwaits *all, u32 tid, u64 since_ns);

void monitorwaits_fini(struct monitorwaits *all);
