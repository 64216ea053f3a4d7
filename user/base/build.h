/* SPDX-License-Identifier: Apache-2.0 */
/* How this program was linked. */
#pragma once

#include "base/types.h"

/* Whether it is the one static binary, without TLS and NATS (`make static`). */
bool build_is_static(void);

/* A sentence on how far the processor of this build is supported; NULL if it is fully. */
const char *build_limitation(void);

/*
 * For the begin of main: users, groups and hosts come from files and DNS only, if the program is
 * static. Modules of NSS such as libnss_systemd.so end a static program by SIGSEGV (glibc 2.36).
 */
void build_limit_nss(void);
