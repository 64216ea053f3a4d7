/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of recorder.conf that start recordings by themselves:
 *
 *   trigger = NAME: WHAT > NUMBER for SECONDS in WHERE record EVENTS SECONDS [cooldown SECONDS]
 *             [quota N] [before SECONDS]
 *
 * WHAT is cpu (percent of one CPU), gc (percent of a JVM's CPU time), alloc (MB/s), throttled
 * (percent of periods), psi-cpu, psi-memory, psi-io ("some" over 10 s, percent) or lost (percent of
 * the samples of continuous profiling). WHERE is jvm, node, container=NAME or cgroup=PATH.
 */
#pragma once

#include "base/str.h"
#include "base/types.h"

#define TRIGGERS_MAX 16

enum trigger_what {
	TRIGGER_CPU,
	TRIGGER_GC,
	TRIGGER_ALLOC,
	TRIGGER_THROTTLED,
	TRIGGER_PSI_CPU,
	TRIGGER_PSI_MEMORY,
	TRIGGER_PSI_IO,
	TRIGGER_LOST,
	NR_TRIGGER_WHATS,
};

enum trigger_where {
	TRIGGER_JVM, /* each JVM by itself */
	TRIGGER_NODE,
	TRIGGER_CONTAINER,
	TRIGGER_CGROUP,
	NR_TRIGGER_WHERES,
};

struct trigger_rule {
	char name[48], where_text[256], events[128];
	enum trigger_what what;
	enum trigger_where where;
	double limit;
	u32 for_s, record_s, cooldown_s, quota, before_s;
};

/* The value of a line `trigger = ..`; -EINVAL and a sentence if it is wrong. */
int trigger_rule_parse(const char *text, struct trigger_rule *out, struct str *why);

/* "cpu", and "% of a CPU". */
const char *trigger_what_name(enum trigger_what what);
const char *trigger_what_unit(enum trigger_what what);
