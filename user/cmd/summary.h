/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording tells the person at the terminal, on standard error. */
#pragma once

#include "capture/session.h"

/* One line that is written again and again, then ended. */
void summary_live(const struct session *s, u64 elapsed_ns);
void summary_live_end(void);

/* The closing summary. */
void summary_print(struct session *s, const char *path, u64 size_bytes);

/* The hottest methods, on standard output. */
void summary_top(struct session *s);

/* Whether an agent was refused by a JVM. */
bool summary_refused(const struct session *s);
