/* SPDX-License-Identifier: Apache-2.0 */
/* The signals of a child that must not end before its parent, and the signals of threads. */
#pragma once

#include <pthread.h>
#include <stddef.h>

/*
 * Ignores the signals that a terminal or a service manager sends to the whole group. All others get
 * their default action, and none stays blocked.
 */
void signals_leave_to_parent(void);

/*
 * Starts a thread with all signals blocked: they stay with the calling thread. A stack of 0 bytes
 * has the default size. Negative errno.
 */
int thread_start(size_t stack_bytes, void *(*run)(void *ctx), void *ctx, pthread_t *out);
