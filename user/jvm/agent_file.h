/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's file, before a JVM gets it: a library that is cut off would end the JVM with SIGBUS.
 */
#pragma once

#include "base/str.h"

/*
 * `path`, or if that is NULL libjvmmap.so beside this program, else in its ../lib/sysflame; NULL if
 * there is none. The caller frees it.
 */
char *agent_file_find(const char *path);
#define NO_AGENT_FILE "libjvmmap.so is neither beside sysflame nor in ../lib/sysflame; install it"

/* Whether it is whole and of our wire format. If not, `why` gets "reason; what to do". */
bool agent_file_is_good(const char *path, struct str *why);
