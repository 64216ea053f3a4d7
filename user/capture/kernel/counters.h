/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of bpf/stat.h in words: for the summary, the notes of a profile and the page. */
#pragma once

#include "proc/process.h"

enum severity {
	SEVERITY_NORMAL,
	SEVERITY_INEXACT,
	SEVERITY_LOST,
};

struct counter {
	const char *key;  /* stable */
	const char *text; /* follows a number */
	enum severity severity;
	/*
	 * the part of a process that user space must be able to read; otherwise these losses occur
	 */
	enum reading reads;
	const char *remedy; /* "" for SEVERITY_NORMAL */
};

/* The counter of an enum stat_id. */
const struct counter *counter_of(u32 stat);

/* Whether the enum stat_id is a reason why a user stack was cut before its root. */
bool counter_is_cut(u32 stat);

/* The sentence of a reason for cut stacks, without the beginning that all of them share. */
const char *counter_reason(const struct counter *c);

/* Why samples were lost: the part of the sentence behind its colon. */
const char *counter_cause(const struct counter *c);
