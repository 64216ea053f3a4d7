/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values that a JVM keeps about itself: its threads' allocations and states, its heap.
 *
 * Thread::_allocated_bytes counts what a thread has allocated since its start: the TLABs (buffers)
 * that it has used up, and objects outside of TLABs. The used part of its present TLAB is added
 * here, as Thread::cooked_allocated_bytes does for com.sun.management.ThreadMXBean (JDK 8 to 28:
 * runtime/thread.inline.hpp; counted in gc/shared/threadLocalAllocBuffer.cpp, retire, and
 * memAllocator.cpp; in JDK 8 gc_interface/collectedHeap.inline.hpp). Only JDK 21 and later keep the
 * sum of threads that ended (services/threadService.hpp), and they do not export it.
 */
#pragma once

#include "base/vec.h"
#include "jvm/hotspot/hotspot.h"

enum java_thread_state {
	JAVA_THREAD_RUNS,    /* in Java code or in the VM: on a CPU, or ready for one */
	JAVA_THREAD_NATIVE,  /* in native code or a system call, where it may wait */
	JAVA_THREAD_BLOCKED, /* waits to enter a monitor that another thread holds */
	JAVA_THREAD_WAITS,   /* parked, asleep, in Object.wait, at a safepoint, or idle in the VM */
	NR_JAVA_THREAD_STATES,
};

struct java_thread_gauge {
	u64 java_thread;     /* JavaThread * */
	pid_t inner_tid;     /* in the JVM's pid namespace */
	u64 allocated_bytes; /* since the thread's start; 0 if it could not be read */
	enum java_thread_state state;
};

#define GAUGE_UNKNOWN UINT64_MAX

struct gauges {
	VEC(struct java_thread_gauge) threads;
	bool knows_allocations, knows_states; /* this build exports the fields */
	/* From the JVM's counters (jvm/process/perfdata.h); GAUGE_UNKNOWN with -XX:-UsePerfData. */
	u64 threads_started;           /* since the JVM's start, without threads of the VM */
	u64 heap_used, heap_committed; /* bytes, as the JVM last published them */
	u64 collections;               /* since the JVM's start */
};

/* Addresses of counters whose values are added up. */
struct counter_places {
	u64 *at;
	size_t nr, cap;
};

/* Where the counters of a JVM are; {0} at first. */
struct gauge_places {
	u64 started; /* 0: not found */
	struct counter_places used, committed, collections;
	u32 nr_searches;
};

void gauge_places_fini(struct gauge_places *p);

/*
 * Reads the gauges and replaces the contents of *out. -ENOENT if this build does not export its
 * threads, -EAGAIN if threads start and end too fast to be read, -EFAULT or -ESRCH. Threads are
 * read while they run, so a thread's allocations may be one TLAB too high or too low.
 */
int gauges_read(struct hotspot *h, struct gauge_places *places, struct gauges *out);
void gauges_fini(struct gauges *g);
