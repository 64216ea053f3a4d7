/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for Java monitors. */
#pragma once

#include "jvmmap/session.h"

/*
 * Turns the event on if a session wants it, off if none does. Called with the agent's lock held, on
 * any thread.
 */
jvmtiError locks_settle(JavaVM *vm, struct session *const sessions[], int nr);
