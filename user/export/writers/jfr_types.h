/* SPDX-License-Identifier: Apache-2.0 */
/* The types of a JFR recording: the numbers that stand before events and constants. */
#pragma once

#include "base/str.h"

/* The first two are fixed. All others are defined by the recording's own description. */
enum jfr_type {
	JFR_METADATA = 0,
	JFR_CHECKPOINT = 1,

	JFR_BOOLEAN = 4,
	JFR_INT,
	JFR_LONG,
	JFR_DOUBLE,
	JFR_STRING,
	JFR_CLASS,
	JFR_THREAD,
	JFR_CLASS_LOADER,
	JFR_FRAME_TYPE,
	JFR_THREAD_STATE,
	JFR_STACK_TRACE,
	JFR_STACK_FRAME,
	JFR_METHOD,
	JFR_PACKAGE,
	JFR_SYMBOL,

	JFR_EVENTS = 100, /* types above are events */
	JFR_EXECUTION,
	JFR_CPU_TIME,
	JFR_NATIVE,
	JFR_WALL,
	JFR_ALLOCATION,
	JFR_LIVE,
	JFR_MALLOC,
	JFR_MONITOR,
	JFR_PARK,
	JFR_NATIVE_LOCK,
	JFR_SAMPLE, /* these three are ours (export/interchange/jfr.h) */
	JFR_NOTE,
	JFR_PROFILE,

	JFR_ANNOTATIONS = 200, /* types above are annotations */
	JFR_LABEL,
	JFR_CATEGORY,
	JFR_CONTENT_TYPE,
	JFR_TIMESTAMP,
	JFR_TIMESPAN,
	JFR_DATA_AMOUNT,
	JFR_ADDRESS,
	JFR_UNSIGNED,
};

/* Types of frames. async-profiler's converter knows these numbers. */
enum jfr_frame_type {
	JFR_FRAME_INTERPRETED,
	JFR_FRAME_COMPILED,
	JFR_FRAME_INLINED,
	JFR_FRAME_NATIVE,
	JFR_FRAME_CPP,
	JFR_FRAME_KERNEL,
	JFR_FRAME_C1,
};

enum jfr_thread_state {
	JFR_STATE_DEFAULT,
	JFR_STATE_RUNNABLE,
	JFR_STATE_SLEEPING,
};

/* Appends the event that describes all types. */
void jfr_add_types(struct str *out);
