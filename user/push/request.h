/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of a minute, as a worker hands them over. */
#pragma once

#include "base/types.h"

#define PUSH_SERVICES 200 /* in a minute; those with the least weight become "other" */

/* Before each request; the service's name and the request's bytes follow. */
struct push_head {
	u32 kind; /* enum receiver_kind */
	u32 service_len, len;
};
