/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that leave all signals to the thread which starts them. */
#pragma once

#include <pthread.h>
#include <stddef.h>

/*
 * Starts a thread with all signals blocked; they are for the calling thread. A stack of 0 bytes has
 * the default size. Negative errno.
 */
int thread_start(size_t stack_bytes, void *(*run)(void *ctx), void *ctx, pthread_t *out);
