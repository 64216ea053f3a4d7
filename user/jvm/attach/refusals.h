/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JVMs in which an attach failed, remembered across runs. They are not tried again for a while,
 * which doubles with each further failure. There is a file per process in REFUSALS_FOLDER, which
 * root or we must own; without a writable folder nothing is remembered. An entry ends with its
 * process or with a successful attach.
 */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "proc/status.h"

#define REFUSALS_FOLDER "/run/sysflame/refused"

struct refusal {
	u64 until_ns; /* CLOCK_BOOTTIME: no attach before */
	u32 nr;       /* consecutive failures */
	bool was_signalled;
	char reason[320];
};

/* Returns false if there is no entry for the process. */
bool refusal_read(struct process_id id, struct refusal *out);

/* Records one more failure. */
void refusal_add(struct process_id id, const char *reason, bool was_signalled);
void refusal_forget(struct process_id id);

/* Whether the process must not be tried now. `why` then gets "reason; what to do". */
bool refusal_holds(const struct refusal *r, struct str *why);
