/* SPDX-License-Identifier: Apache-2.0 */
/* The priority of the recording thread. It cannot be raised without CAP_SYS_NICE. */
#pragma once

#include "base/types.h"

struct priority {
	int niceness; /* while not raised */
	bool is_raised;
};

/* Child processes do not inherit a raised priority from here on. */
void priority_init(struct priority *p);
void priority_raise(struct priority *p, bool is_raised);
