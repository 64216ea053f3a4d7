/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JVMs to which an attach was tried in vain, kept across runs: they are left alone for a while,
 * twice as long after each further try. A file per process in REFUSALS_FOLDER, which must be root's
 * or ours; where that cannot be written nothing is kept. Forgotten with the process, or when an
 * attach succeeds.
 */
#pragma once

#include "base/str.h"
#include "base/types.h"

#define REFUSALS_FOLDER "/run/sysflame/refused"

struct refusal {
	u64 until_ns; /* CLOCK_BOOTTIME: not to be tried before */
	u32 nr;       /* in a row */
	bool was_signalled;
	char reason[320];
};

/* False if nothing is known of the process. */
bool refusal_read(pid_t pid, u64 start_ns, struct refusal *out);

/* One more. */
void refusal_add(pid_t pid, u64 start_ns, const char *reason, bool was_signalled);
void refusal_forget(pid_t pid, u64 start_ns);

/* Whether it is to be left alone now; then `why` gets "reason; what to do". */
bool refusal_holds(const struct refusal *r, struct str *why);
