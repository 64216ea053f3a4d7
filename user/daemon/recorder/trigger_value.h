/* SPDX-License-Identifier: Apache-2.0 */
/* The values that rules compare: read from the kernel, from control groups and from JVMs. */
#pragma once

#include "capture/node.h"
#include "daemon/channel/protocol.h"
#include "daemon/recorder/trigger_rule.h"

/* Counters of a JVM, a control group or the node; most of them only grow. */
struct trigger_counters {
	u64 cpu_ns, gc_ns, allocated;
	u64 periods, throttled;
	u64 samples, lost;
	double pressure;
};

struct trigger_target {
	enum control_target kind;
	u64 key;
	const char *text, *name, *container;
};

/* Both fill in what the rule needs; negative errno if it is unknown. */
int trigger_read_jvm(struct node *n, struct process *p, enum trigger_what what,
		     struct trigger_counters *out);
int trigger_read_group(struct node *n, const struct trigger_rule *r, struct trigger_counters *out);

/*
 * Whether the value has no news yet: samples of continuous profiling are counted only once in a
 * slice.
 */
bool trigger_waits(enum trigger_what what, const struct trigger_counters *from,
		   const struct trigger_counters *to);

/* The value between two readings; false if there is none. */
bool trigger_value(enum trigger_what what, const struct trigger_counters *from,
		   const struct trigger_counters *to, u64 passed_ns, double *out);

/* The parsers: the number behind `key` in the text of cpu.stat, and "some avg10=" of a pressure. */
bool trigger_stat(const char *text, const char *key, u64 *out);
bool trigger_pressure(const char *text, double *out);
