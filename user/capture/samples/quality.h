/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes have stacks that lack callers, and why. The table counts for at most QUALITY_MAX
 * processes. A sentence reports each process with many such stacks and each JVM whose tables cannot
 * be read.
 */
#pragma once

#include "base/str.h"
#include "capture/kernel/counters.h"
#include "jvm/hotspot/jvm_registry.h"
#include "proc/process.h"

struct quality;

#define QUALITY_MAX     4096
#define QUALITY_SHARE   20 /* a process with more than one cut stack in so many is reported */
#define QUALITY_CUT_MIN 20 /* fewer cut stacks may be those of a process that starts */
/* if more processes are reported, a sentence about all of them is added */
#define QUALITY_SINGLE 5

struct quality *quality_new(const struct jvm_registry *jvms);
void quality_free(struct quality *q);

/*
 * Why a stack of the process ended, an enum stat_id, for which BPF gives `stop`, with its outermost
 * frame at `pc`. User space knows better in which JVMs no tables could be read.
 */
u32 quality_stop(const struct jvm_registry *jvms, const struct process *p, u32 stop, u64 pc);

/*
 * Counts a stack of the process that ended for the reason `stop`, an enum stat_id, with its
 * outermost frame at `pc`.
 */
void quality_count(struct quality *q, const struct process *p, u32 stop, u64 pc);

/* Records whether the JVM's tables could be read. Call it before the JVM is forgotten. */
void quality_judge(struct quality *q, const struct process *p);

/* Records that the JVM runs virtual threads. */
void quality_mark_virtual(struct quality *q, const struct process *p);

/* The number of JVMs with virtual threads; adds the first one's name to *first. */
u32 quality_nr_virtual(const struct quality *q, struct str *first);

/* A report on one process; with pid 0 on all of them together. */
struct incomplete {
	pid_t pid;
	u64 nr, nr_cut;
	enum severity severity;
	/* Follows nr_cut: "stacks of NAME-PID lack callers (..): reason; remedy". */
	const char *text;
};

/*
 * Calls `visit` for each report, the process with the most cut stacks first. The text is valid
 * during the call.
 */
typedef void (*incomplete_fn)(const struct incomplete *i, void *ctx);
void quality_each(const struct quality *q, incomplete_fn visit, void *ctx);
