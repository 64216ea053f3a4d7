/* SPDX-License-Identifier: Apache-2.0 */
/* The capabilities of this process, and a sentence about missing ones. */
#pragma once

#include <linux/capability.h>

#include "base/str.h"

/* A set of capabilities, as in /proc/PID/status. */
#define CAPABILITY(number) (1ull << (number))
#define CAPABILITY_IDS     (CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID))

/* The effective set; 0 if the kernel does not report it. */
u64 capabilities_read(void);
bool capability_has(int number);

/* Makes `effective`, as far as permitted, the effective set. */
int capabilities_set(u64 effective);

/* Makes `kept`, as far as permitted, the permitted and the effective set; none is inheritable. */
int capabilities_keep(u64 kept);

/* "CAP_BPF"; "" for a capability that sysflame does not use. */
const char *capability_name(int number);

/*
 * Adds the remedy for an action that needs `wanted`: "run sysflame with CAP_A and CAP_B", the
 * missing ones. If none is missing, the sentence lists what else may forbid the action.
 */
void capabilities_add_remedy(struct str *out, u64 wanted);
