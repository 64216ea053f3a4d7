/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reports of a recording on standard error: the live line and the summary. A recording without
 * samples writes no file but one sentence with the likely cause.
 */
#pragma once

#include "capture/node.h"
#include "capture/recording.h"
#include "cmd/record/record_options.h"

/* A recording that has ended. */
struct recorded {
	struct node *node;
	const struct recording *recording;
	const struct cut *cut; /* its only one */
	const struct format *format;
	bool has_servers; /* debuginfod was asked for symbols */
};

/* The live line: rewritten in place, then removed. */
void summary_live(const struct recording *r, u64 elapsed_ns);
void summary_live_end(void);

/* Prints the line of a file of --loop. */
void summary_part(const struct cut *c, const char *path, u64 size_bytes);

/* The closing summary. */
void summary_print(const struct recorded *r, const char *path, u64 size_bytes);

/* The hottest methods, on standard output. */
void summary_top(const struct recorded *r);

/* Whether a JVM refused the agent. */
bool summary_refused(const struct recorded *r);

/* Memory that was sampled but freed before the end is a result, not a lack of samples. */
bool no_samples_is(const struct recorded *r, const struct record_options *o);

/* Logs the cause as an error. */
void no_samples_say(const struct recorded *r, const struct record_options *o);
