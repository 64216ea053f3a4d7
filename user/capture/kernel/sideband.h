/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mappings, execs and names of processes, and new code of the kernel, from perf's side band:
 * one small ring for each CPU (docs/decisions/0001). Facts: include/uapi/linux/perf_event.h, enum
 * perf_event_type.
 */
#pragma once

#include "base/types.h"
#include "proc/process.h"

enum side_kind {
	SIDE_MMAP, /* new executable memory: mmap, or mprotect of an older mapping */
	SIDE_EXEC, /* a new program: all older mappings and the name are gone */
	SIDE_COMM, /* the main thread, and so the process, was renamed */
	SIDE_CODE, /* the kernel has made code, as of a BPF program; pid is 0 */
	SIDE_LOST, /* the ring was full, `nr_lost` events are missing; pid is 0 */
};

struct side_event {
	enum side_kind kind;
	pid_t pid;
	u64 time_ns;                 /* CLOCK_MONOTONIC */
	u64 nr_lost;                 /* SIDE_LOST */
	char comm[PROCESS_COMM_LEN]; /* SIDE_EXEC, SIDE_COMM */
	struct mapping mapping;      /* SIDE_MMAP; SIDE_CODE: its place, the name as the path. The
				      * path is valid during the call only. */
};

struct sideband;

int sideband_open(struct sideband **out);
void sideband_close(struct sideband *s);

/*
 * Opens rings on CPUs that came online; drops those of CPUs that went offline. Replaces the ring of
 * a CPU that did both since the last call. True if a ring changed: events may then be missing.
 */
bool sideband_follow(struct sideband *s);

/*
 * Readable (poll, epoll) when a program has started or several events wait; a single one waits for
 * the caller's next look.
 */
int sideband_fd(const struct sideband *s);

/* Calls `event` for the events since the previous call; sorted by time for each CPU only. */
typedef void (*side_event_fn)(const struct side_event *e, void *ctx);
void sideband_drain(struct sideband *s, side_event_fn event, void *ctx);

/*
 * Parses one record of `len` bytes; false if it is malformed or of no interest. The event's path
 * points into `record`.
 */
bool side_event_parse(const void *record, size_t len, struct side_event *out);

#define WAKES_BURST   20
#define WAKES_PER_SEC 10

/*
 * How often new mappings may wake the recorder between its ticks. A wake makes the tables of mapped
 * code ready before its first sample. A machine that compiles maps code a hundred times a second.
 * {0} is valid.
 */
struct wakes {
	u32 nr_taken;   /* of WAKES_BURST */
	u64 counted_ns; /* 1 / WAKES_PER_SEC after this time, one more wake is allowed */
};

/* Whether another wake is allowed at that time. */
bool wakes_left(struct wakes *w, u64 now_ns);
void wakes_take(struct wakes *w, u64 now_ns);
