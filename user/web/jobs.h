/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on profiles, done by workers: the web process never parses a profile (worker/workers.h).
 * Each kind of work is a function in web/tasks.c that runs in a worker without rights.
 */
#pragma once

#include "base/str.h"
#include "worker/workers.h"

/* The tasks of the web's workers; the first number of a job's parameters. */
enum web_task {
	WEB_CONVERT, /* a profile, or several merged, in another format */
	WEB_DIFF,    /* two profiles; the first is before, the second after */
	WEB_IMPORT,  /* a file of any known format as .sflm */
	WEB_SUMMARY, /* what lists show about a profile, as JSON */
	WEB_RANGE,   /* slices of a time range, as convert does */
	WEB_TASKS,
};

/* The parameters of every task. Texts end in a NUL; "" is none. */
struct web_params {
	u32 nr_inputs; /* CONVERT: profiles, asked for as place 0 with the decimal number as path */
	char format[16]; /* of export/export.h */
	char title[256];
	char transforms[4096];        /* a line each, as in --transform */
	u64 from_wall_ns, to_wall_ns; /* RANGE */
	u64 pid;
	char service[128], container[128], pod[128], comm[32];
};

extern const worker_fn web_tasks[WEB_TASKS];
