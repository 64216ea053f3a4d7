/* SPDX-License-Identifier: Apache-2.0 */
/* The readings of JVMs in control/protocol.h, from the recorder to the web process. */
#pragma once

#include "base/types.h"

#define CONTROL_READING_JVMS    20         /* in one message */
#define CONTROL_READING_METHODS 10         /* of a JVM, the hottest ones */
#define CONTROL_UNKNOWN         UINT64_MAX /* of any number below */

struct control_method {
	char name[160];
	u32 is_java;
	u64 self, total; /* samples */
};

/* Rates are in millionths of a CPU, or in bytes per second. */
struct control_reading_jvm {
	s32 pid;
	u32 alloc_is_least; /* threads ended meanwhile: some of their bytes are missing */
	u64 start_ns;       /* of the process, CLOCK_BOOTTIME */
	char name[192], container[128], jdk[32], collector[32];
	char gap[128]; /* why its memory is not read; "" if it is */
	u64 cpu_ppm, gc_ppm, jit_ppm, alloc_rate;
	u64 allocated_bytes, partial_threads; /* since the readings began */
	u64 heap_used, heap_committed, collections;
	u32 nr_threads; /* 0: unknown */
	u32 threads[4]; /* running, native, blocked, waiting */
	u64 samples;    /* of the last seconds */
	u32 nr_methods;
	struct control_method methods[CONTROL_READING_METHODS];
};

/* One reading of all JVMs, in one or several messages. */
struct control_reading {
	u32 first; /* this begins a new reading */
	u32 last;  /* and this ends it */
	u32 nr_cpus, load_milli[3];
	u64 wall_ns, passed_ns; /* since the reading before; 0: it is the first one */
	u64 busy_ppm, stolen_ppm, other_ppm, own_ppm;
	u32 nr;
	struct control_reading_jvm at[CONTROL_READING_JVMS];
};
