/* SPDX-License-Identifier: Apache-2.0 */
/* The command that a JVM was started with, as the JVM keeps it. */
#pragma once

#include "jvm/hotspot/hotspot.h"

/*
 * The JVM's property sun.java.command: main class or jar, and arguments, cut to `max` bytes. "" if
 * no launcher has set it. -ENOENT if this build does not export it; -EAGAIN, -EFAULT or -ESRCH.
 */
int hotspot_java_command(const struct hotspot *h, char *out, size_t max);
