/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `sysflame record`. */
#pragma once

#include <limits.h>

#include "base/opt.h"
#include "capture/events/events.h"
#include "capture/samples/levels.h"
#include "capture/targets/targets.h"
#include "cmd/late_symbols.h"
#include "cmd/stack_options.h"
#include "export/export.h"
#include "jvm/agent/agents.h"
#include "jvm/labels/thread_local.h"
#include "profile/transform.h"

#define NOT_GIVEN INT_MIN /* a number without its option */

struct record_options {
	/* As given. */
	bool all, quiet, verbose, raw_names, lines, signatures, help, measure, has_no_output, force,
		open;
	char *own_output;             /* owns `output` if -o was not given */
	const char *cpu_list;         /* as given */
	struct opt_pairs event_words; /* --event, --trace and --filter */
	char *own_event_list;
	const char *event_list, *output, *format_name, *agent_name, *agent_path, *by;
	const char *alloc_interval, *nativemem_interval;
	int freq_hz, period, ring_kb;
	double duration_s, offcpu_min_ms, lock_min_ms, leak_age_s;
	const char *thread;
	bool by_thread, timeline, traces;
	struct opt_list selected[NR_TARGET_KINDS], excluded, transform_words, label_words;
	struct stack_options stacks;
	struct late_symbols late;
	const char *loop;
	int keep;
	bool jvms, ttsp, live, collect, reserved, own, kernel_only;
	const char *begin, *end, *wait_for;
	/* As parsed. */
	struct targets *targets;
	cpulist cpus; /* empty: all */
	struct level_list levels;
	regex_t thread_regex; /* valid if `thread` is set */
	struct events events;
	struct event_options sampling;
	struct thread_local_spec labels[JAVA_LABELS];
	u32 nr_labels;
	struct workers *workers; /* that parsed the files that events name */
	const struct format *format;
	enum agent_mode agent;
	struct transforms transforms;
	u64 loop_ns;       /* 0: one file */
	size_t ring_bytes; /* 0: by CPUs and events */
	char **command;    /* NULL-terminated, NULL if none */
};

/* The defaults. */
struct record_options record_options_default(void);

/* Returns 0 to continue, 1 if nothing is left to do (--help), or -EINVAL after logging an error. */
int record_options_parse(struct record_options *o, int argc, char **argv);
void record_options_fini(struct record_options *o);
