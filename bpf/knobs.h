/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What user space sets before loading; read-only for the programs, so unused code is dropped. */
#pragma once

struct knobs {
	__u32 filter_by_pid; /* only processes in the map `targets` and their children are sampled
			      */
	__u32 debug;         /* print to the trace pipe */
};
