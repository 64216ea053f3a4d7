/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF programs that events choose; the others belong to every recording. */
#pragma once

/* X(NAME, name of the function in bpf/) */
#define PROGRAMS(X)                     \
	X(PERF_SAMPLE, perf_sample)     \
	X(TRACE_HIT, trace_hit)         \
	X(KPROBE_HIT, kprobe_hit)       \
	X(UPROBE_HIT, uprobe_hit)       \
	X(METHOD_HOOK, method_hook)     \
	X(JAVA_EVENT, java_event)       \
	X(ALLOC_GONE, alloc_gone)       \
	X(MEMORY_ALLOC, memory_alloc)   \
	X(MEMORY_ENTER, memory_enter)   \
	X(MEMORY_RETURN, memory_return) \
	X(MEMORY_FREE, memory_free)     \
	X(OFFCPU_BEGIN, offcpu_begin)   \
	X(OFFCPU_END, offcpu_end)       \
	X(OFFCPU_BACK, offcpu_back)     \
	X(OFFCPU_TASKS, offcpu_tasks)   \
	X(WINDOW_BEGIN, window_begin)   \
	X(WINDOW_END, window_end)

enum program {
	PROGRAM_NONE,
#define X(NAME, name) PROGRAM_##NAME,
	PROGRAMS(X)
#undef X
	NR_PROGRAMS
};

#define PROGRAM_BIT(NAME) (1u << PROGRAM_##NAME)

/* The programs that follow waits; offcpu_end and offcpu_back serve different kernels. */
#define PROGRAM_BITS_WAITS                                                                \
	(PROGRAM_BIT(OFFCPU_BEGIN) | PROGRAM_BIT(OFFCPU_END) | PROGRAM_BIT(OFFCPU_BACK) | \
	 PROGRAM_BIT(OFFCPU_TASKS))
