/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The counters, one list: name and sentence. BPF counts them per CPU; the summary, the page and
 * the documents show the sentence. Adding one is adding its line.
 */
#pragma once

#define STATS(X)                                                                      \
	X(SAMPLES, "samples taken")                                                   \
	X(IDLE, "samples of the idle task, skipped")                                  \
	X(FILTERED, "samples of processes that were not asked for, skipped")          \
	X(RING_FULL, "samples lost: the ring buffer was full")                        \
	X(EVENT_LOST, "process events lost: the ring buffer was full")                \
	X(NO_SCRATCH, "samples lost: a CPU without a scratch record")                 \
	X(ROOT, "user stacks that reached the thread's root")                         \
	X(NO_USER, "samples without a user stack: kernel threads")                    \
	X(FRAME_POINTERS, "user stacks by frame pointers: where they end is unknown") \
	X(DEPTH, "user stacks cut: more than 1024 frames")                            \
	X(UNREADABLE, "user stacks cut: memory could not be read")

enum stat {
#define X(name, text) STAT_##name,
	STATS(X)
#undef X
	NR_STATS
};

static const char *const stat_text[] __attribute__((unused)) = {
#define X(name, text) [STAT_##name] = text,
	STATS(X)
#undef X
};
