/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the agent's file before a JVM loads it: others must not choose its code. */
#pragma once

#include "base/str.h"

#define AGENT_BUILT_IN "libjvmmap.so inside of sysflame" /* path of an agent in the program */

/*
 * AGENT_BUILT_IN if `path` is NULL and the library is part of the program. Otherwise
 * `path`, or if it is NULL libjvmmap.so beside this program, else in its ../lib/sysflame. NULL if
 * there is none. The caller frees it.
 */
char *agent_file_find(const char *path);
#define AGENT_FILE_MAX (4u << 20)

/* Why agent_file_find(path) found none. */
const char *agent_file_missing(const char *path);

/* The caller frees *bytes. Negative errno. */
int agent_file_read(const char *path, char **bytes, size_t *len);

/*
 * Whether only root, this user and the owner of this program can change the file and the folders
 * above it. Others would run code in every JVM. If not, `why` gets "reason; what to do".
 */
bool agent_file_is_trusted(const char *path, struct str *why);

/*
 * Whether the file is trusted, complete and has our wire format. A truncated library would cause
 * SIGBUS in the JVM. If not, `why` gets "reason; what to do".
 */
bool agent_file_is_good(const char *path, struct str *why);
