/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Java code does, told as it happens: the JVM calls us, and we call an empty function on which
 * sysflame has a uprobe, so that the kernel takes the sample with the stack as it is. Each kind of
 * event has a JVMTI environment of its own, made when a session first wants it: capabilities are
 * had all or none, and that of sampled allocations only one agent of the JVM can have.
 */
#pragma once

#include "jvmmap/session.h"

/*
 * Turns each event on if any of the sessions wants it and off if none does; says in the header of
 * `asking`, NULL if nobody asks, what came of it. With the agent's lock held, on any thread.
 */
void hooks_settle(JavaVM *vm, struct session *const sessions[], int nr, struct session *asking);
