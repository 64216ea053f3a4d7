/* SPDX-License-Identifier: Apache-2.0 */
/* The live line and the summary of a recording, on standard error. */
#pragma once

#include "capture/session.h"

/* The live line: rewritten in place, then removed. */
void summary_live(const struct session *s, u64 elapsed_ns);
void summary_live_end(void);

/* The closing summary. */
void summary_print(struct session *s, const char *path, u64 size_bytes);

/* The hottest methods, on standard output. */
void summary_top(struct session *s);

/* Whether a JVM refused the agent. */
bool summary_refused(const struct session *s);
