/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of a recording by time: the profile of a sink's samples in that time, with the numbers
 * that its notes report.
 */
#pragma once

#include "abi.h"
#include "base/dict.h"
#include "base/time.h"
#include "capture/samples/quality.h"
#include "capture/samples/requests.h"
#include "capture/samples/traces.h"
#include "profile/profile.h"
#include "stat.h"

/* Counts of the samples in a profile. */
struct sample_counts {
	u64 by_event[ABI_EVENTS];
	u64 by_stop[NR_STATS]; /* by the reason why the user stack ended */
	u64 nr_frames, nr_named;
	u64 nr_java, nr_java_named; /* of Java methods and of unknown code in a JVM */
	u64 nr_inferred;            /* frames named by their role */
	u64 nr_stripped;            /* frames for which symbolizer_is_stripped holds */
	u64 nr_approximate;         /* samples for which raw_stack_is_approximate holds */
	u64 nr_inexact;       /* samples with a leaf for which symbolizer_leaf_is_inexact holds */
	u64 nr_other_threads; /* samples excluded by levels.thread */
	u64 nr_attach;        /* samples of sysflame's own work in JVMs */
	u64 nr_attach_left_out;
	u64 nr_other_values; /* samples with attributes of which one is REQUEST_OTHER */
	u64 reserved_bytes;  /* bytes that --leaks excludes */
};

/* Adds the numbers of `more` to *sum. */
void sample_counts_add(struct sample_counts *sum, const struct sample_counts *more);

/* Counters of losses. They only grow. */
struct loss_counts {
	u64 stats[NR_STATS];
	u64 events[ABI_EVENTS][NR_EVENT_COUNTS];
	u64 nr_conflicts, nr_without_line; /* see symbolizer_nr_conflicts */
	u64 nr_denied;                     /* samples of containers that opted out */
	/* Of the whole node: */
	u64 nr_maps_left_out;     /* perf maps that were left out */
	u64 nr_files_left_out;    /* files that took too long to read */
	u64 nr_opens_late;        /* files that did not open in time */
	u64 nr_memory_left_out;   /* reads of memory that did not arrive */
	u64 nr_mappings_left_out; /* processes whose mappings are not all known */
	u64 nr_memory_drops;      /* times that names were dropped to stay below the memory limit */
};

/* *out: by how much the counters grew from `before` to `after`. */
void loss_counts_between(const struct loss_counts *before, const struct loss_counts *after,
			 struct loss_counts *out);

/*
 * The number of lost samples in `losses`, and the number of lost samples for which no program ran.
 */
u64 loss_counts_samples(const struct loss_counts *losses);
u64 loss_counts_missed(const struct loss_counts *losses);

/* The labels of each thread's newest sample. */
struct newest_threads {
	struct dict by_thread; /* PID and TID -> index in `all` + 1 */
	VEC(struct newest_thread {
		u64 time_ns;
		labels_id labels;
	})
	all;
};

/*
 * The label sets of each program, the newest first. There may be millions, and processes end all
 * the time.
 */
struct program_labels {
	struct dict newest;   /* PID and program -> label set + 1 */
	VEC(labels_id) older; /* by label set: the one before of the same program + 1; 0: none */
};

/* By label set: the node of its levels + 1; 0: not known yet. */
typedef VEC(node_id) level_nodes;

/* A process with contexts that were ignored in part. */
struct faulty_requests {
	u32 pid;
	u32 faults; /* bits of enum request_fault */
	u64 nr;     /* samples */
};

/* A stack that has its nodes in the profile: a sample of it takes one lookup and a comparison. */
struct placed_stack {
	node_id node; /* of its leaf */
	u32 nr_frames, nr_named, nr_java, nr_java_named, nr_inferred, nr_stripped;
	bool is_of_virtual_threads;
};

struct cut {
	struct profile *profile;
	struct span span; /* CLOCK_MONOTONIC, [begin, end); TIME_NEVER: it has not ended */
	struct sample_counts counts;
	struct loss_counts before; /* when it began */
	struct loss_counts losses; /* losses during the cut; set when it ends */
	struct quality *quality;
	struct dict stacks; /* hash of a node, the frames below it -> index in `placed` + 1 */
	VEC(struct placed_stack) placed;
	struct newest_threads threads; /* empty unless the profile has a level for threads */
	struct program_labels programs;
	level_nodes levels;
	struct traces traces;
	VEC(struct faulty_requests) faulty; /* at most CUT_FAULTY_MAX */
	u64 nr_other_faulty;                /* samples of other processes with faults */
	u64 nr_virtual, nr_late_virtual;    /* waits of virtual threads; virtual_sample.is_late */
};

#define CUT_FAULTY_MAX 20 /* processes */

/* `profile` becomes the cut's. `jvms` stays the caller's. */
struct cut *cut_new(struct profile *profile, u64 begin_ns, const struct jvm_registry *jvms);
void cut_free(struct cut *c);

/* Counts a sample of the process with that request. */
void cut_count_request(struct cut *c, u32 pid, const struct request *request);
