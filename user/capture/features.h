/* SPDX-License-Identifier: Apache-2.0 */
/* What this kernel and our capabilities allow, found out by trying where that is cheap. */
#pragma once

#include "base/types.h"

struct feature {
	const char *name;
	const char *gives; /* what it is for, or what was found */
	bool is_ok;
	bool is_needed;     /* without it nothing can be recorded */
	const char *remedy; /* of what is missing: "why; what to do"; else NULL */
};

/*
 * Calls `tell` for each feature; the texts are valid during the call. Loads the sampling programs
 * once, which may log the kernel's refusal.
 */
typedef void (*feature_fn)(const struct feature *f, void *ctx);
void features_each(feature_fn tell, void *ctx);

/*
 * Whether a process's number here is the one by which the BPF programs know it, as in the host's
 * pid namespace. Elsewhere another process has that number there.
 */
bool features_has_host_pids(void);
