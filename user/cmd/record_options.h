/* SPDX-License-Identifier: Apache-2.0 */
/* What `sysflame record` was asked for. */
#pragma once

#include "base/opt.h"
#include "capture/events.h"
#include "capture/levels.h"
#include "capture/targets.h"
#include "export/export.h"
#include "jvm/agents.h"
#include "profile/transform.h"

struct record_options {
	/* As they were written. */
	bool all, quiet, verbose, raw_names, lines, help, measure, has_no_output;
	const char *event_list, *output, *format_name, *agent_name, *agent_path, *by;
	const char *alloc_interval, *nativemem_interval;
	int freq_hz, period, ring_kb;
	double duration_s, offcpu_min_ms, lock_min_ms, leak_age_s;
	const char *thread;
	bool by_thread, timeline;
	struct opt_list selected[NR_TARGET_KINDS], excluded, transform_words;
	bool jvms, ttsp, live, collect;
	const char *begin, *end, *wait_for;
	/* What they mean. */
	struct targets *targets;
	struct level_list levels;
	regex_t thread_regex; /* if thread */
	struct events events;
	struct event_options sampling;
	const struct format *format;
	enum agent_mode agent;
	struct transforms transforms;
	char **command; /* NULL-terminated, NULL if none */
};

/* How it is without options. */
struct record_options record_options_default(void);

/* Returns 1 if all is done (--help), 0 to go on, or -EINVAL after having said what is wrong. */
int record_options_parse(struct record_options *o, int argc, char **argv);
void record_options_fini(struct record_options *o);
