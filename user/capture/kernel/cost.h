/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of sampling in the kernel. */
#pragma once

#include "base/types.h"

/* All 0 unless measured. */
struct sampling_cost {
	u64 runs, run_ns;     /* of the BPF programs, including runs that took no sample */
	u64 walks, frames;    /* of user stacks, with our tables */
	u64 walk_ns;          /* of these walks */
	u64 frame_pointer_ns; /* of the kernel's walks in these samples; part of run_ns */
};
