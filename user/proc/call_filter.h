/* SPDX-License-Identifier: Apache-2.0 */
/* System calls that a recording can never need, forbidden by seccomp(2). */
#pragma once

#include "proc/privileges.h"

/*
 * Makes these calls fail with EPERM in all threads of this process: to execute programs, trace or
 * write to processes, load modules or kernels, and others that change the machine. All but
 * PRIVILEGED_ATTACH also lose mounts, namespaces, new processes and connections;
 * PRIVILEGED_WEB may still accept connections, PRIVILEGED_NETWORK make them, and
 * PRIVILEGED_OPENER make them on this machine (AF_UNIX).
 * PRIVILEGED_MEMORY may make only the few calls by which it forks and reads memory. The calls fail
 * rather than end the process: a recording must not be lost because a library tries one. Needs
 * NoNewPrivs or CAP_SYS_ADMIN. Returns a negative errno.
 */
int call_filter_load(enum privileged process);
