/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on profiles, done by workers: the web process never parses a profile (sandbox/workers.h).
 * Each kind of work is a function in web/jobs/jobs_task.c that runs in a worker without rights.
 */
#pragma once

#include "base/str.h"
#include "push/share.h"
#include "sandbox/workers.h"

/* The tasks of the web's workers. Inputs may be in any format that `report` reads. */
enum web_task {
	WEB_CONVERT, /* a profile, or several merged, in another format */
	WEB_DIFF,    /* two profiles in `format`; the first is before, the second after */
	WEB_IMPORT,  /* a file of any known format as .sflm, with names as they came */
	WEB_SUMMARY, /* facts about a profile for lists, as JSON: web/jobs/summarize.h */
	WEB_RANGE,   /* slices of a time range, written as CONVERT does */
	WEB_THIN,    /* a file of slices with longer ones: export/slices/slice_thin.h */
	WEB_PUSH,    /* slices of a time range as requests for receivers: push/bodies.h */
	WEB_TASKS,
};

/*
 * Descriptors of a request, which are read from their start:
 *   CONVERT          the first profile; the others are asked for as place 0, "1", "2", ..
 *   DIFF             before and after
 *   IMPORT, SUMMARY  the profile
 *   THIN             the file of slices
 *   RANGE, PUSH      any, such as /dev/null; files of slices are asked for as place 1, "0", "1", ..
 *                    until the answer is -ENOENT; each question gets the next file
 */
enum web_place {
	WEB_PLACE_PROFILE = 0,
	WEB_PLACE_SLICES = 1,
};

/* The parameters of every task. Texts end in a NUL; "" stands for a missing one. */
struct web_params {
	u32 nr_inputs;   /* CONVERT: profiles, the first included */
	char format[16]; /* a name or an extension of export/export.h, or "sflm" */
	char title[256];
	char transforms[4096];        /* a line each, as in --transform */
	u64 from_wall_ns, to_wall_ns; /* RANGE, PUSH */
	u64 step_ns;                  /* THIN */
	/* RANGE, CONVERT: samples with these labels only */
	char service[128], container[128], pod[128], namespace[128];
	char with[512];    /* NAME=VALUE: a label by name (export/interchange/named_label.h) */
	bool may_be_empty; /* a profile without samples is a valid result */
	/* RANGE */
	u64 pid;
	char comm[32], event[32];
	u32 kinds;                   /* PUSH: bits of enum receiver_kind */
	struct push_share share;     /* PUSH */
	char host[128], labels[256]; /* PUSH: of the node, KEY=VALUE,.. */
};
_Static_assert(sizeof(struct web_params) <= WORKER_TEXT_MAX, "they are a request's parameters");

/*
 * The first byte of a result. Errors without a sentence are negative errnos: -EINVAL for parameters
 * that no web process sends, -EFBIG for a result that is too large, and errors of the descriptors.
 */
enum web_result {
	WEB_RESULT_OK = 0,      /* the result follows */
	WEB_RESULT_REFUSED = 1, /* the reason follows: a sentence for people, without NUL */
};

extern const worker_fn web_tasks[WEB_TASKS];

/* Starts the processes that do the tasks, one worker for each. Negative errno. */
int web_workers_new(struct workers **out);
