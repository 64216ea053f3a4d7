/* SPDX-License-Identifier: Apache-2.0 */
/* What sampling costs in the kernel. */
#pragma once

#include "base/types.h"

/* All 0 unless it is measured. */
struct sampling_cost {
	u64 runs, run_ns;     /* of the programs, those that took no sample included */
	u64 walks, frames;    /* of user stacks, by our tables */
	u64 walk_ns;          /* of these */
	u64 frame_pointer_ns; /* of the kernel's own walks in the same samples; part of run_ns */
};
