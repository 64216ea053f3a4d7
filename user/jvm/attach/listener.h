/* SPDX-License-Identifier: Apache-2.0 */
/* The attach listener of a JVM. */
#pragma once

#include "jvm/attach/job.h"

/*
 * Connects to the listener, and starts it first if the command permits that. Returns a connected
 * socket, or -1 after a conclusion.
 */
int listener_reach(struct job *j);
