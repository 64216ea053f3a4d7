/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of libjvm that its tables do not name. Their addresses come from its symbol table. */
#pragma once

#include "jvm/hotspot/hotspot.h"

/* The address of the first byte of the JVM's libjvm. */
u64 hotspot_libjvm(const struct hotspot *h);

/*
 * The value of a variable of type bool, whose address in the file is `vaddr`. -ERANGE if that is
 * outside libjvm's variables, -EBADMSG if it is neither true nor false, -EFAULT or -ESRCH.
 */
int hotspot_variable(const struct hotspot *h, u64 vaddr, bool *out);
