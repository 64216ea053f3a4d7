/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's file, before a JVM gets it: a library that is cut off would end the JVM with SIGBUS.
 */
#pragma once

#include "base/str.h"

/* Whether it is whole and of our wire format. If not, `why` gets "reason; what to do". */
bool agent_file_is_good(const char *path, struct str *why);
