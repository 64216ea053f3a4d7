/* SPDX-License-Identifier: Apache-2.0 */
/* The live line and the summary of a recording, on standard error. */
#pragma once

#include "capture/node.h"
#include "capture/recording.h"

/* A recording that has ended. */
struct recorded {
	struct node *node;
	const struct recording *recording;
	const struct cut *cut; /* its only one */
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
