/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The features that sysflame needs from the kernel and from its capabilities. They are tested by
 * use where that is cheap.
 */
#pragma once

#include "base/types.h"

struct feature {
	const char *name;
	const char *gives; /* the purpose of the feature, or the result of the test */
	bool is_ok;
	bool is_needed;     /* without it nothing can be recorded */
	const char *remedy; /* if the feature is missing: "why; what to do"; else NULL */
};

/*
 * Calls `visit` for each feature; the texts are valid during the call. Loads the sampling programs
 * once; the kernel may then log a refusal.
 */
typedef void (*feature_fn)(const struct feature *f, void *ctx);
void features_each(feature_fn visit, void *ctx);

/*
 * Whether sysflame sees the same PIDs as the BPF programs, which use those of the host's PID
 * namespace. In another namespace the same number belongs to another process.
 */
bool features_has_host_pids(void);

/*
 * Checks features_has_host_pids before a recording: -ENOTSUP, after logging the remedy, if the PIDs
 * are others.
 */
int features_check_host_pids(void);
