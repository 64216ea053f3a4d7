/* SPDX-License-Identifier: Apache-2.0 */
/* How this program was linked. */
#pragma once

#include "base/types.h"

/* Whether it is the one static binary, without TLS and NATS (`make static`). */
bool build_is_static(void);
