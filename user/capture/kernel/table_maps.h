/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF maps that hold the unwinder's tables (capture/unwind/tables.h). */
#pragma once

#include "base/types.h"

/* The sizes of the maps unwind_rows (nr_words / 2), unwind_ranges and jvms; set before loading. */
struct tables_sizes {
	u32 nr_words, nr_ranges, nr_jvms;
};

#define TABLES_SIZES_DEFAULT                                                 \
	{                                                                    \
		.nr_words = 3u << 20, .nr_ranges = 64u << 10, .nr_jvms = 256 \
	}

/* The maps' descriptors; they stay the caller's. */
struct tables_fds {
	int rows, ranges, procs, jvms;
};
