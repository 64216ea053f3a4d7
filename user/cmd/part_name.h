/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the files of --loop. */
#pragma once

#include <sys/types.h>

#include "base/str.h"

/*
 * Appends the name of a part. In `pattern`, %t is the time at which the part began, %n its number,
 * %p the PID, %h the name of the node, %{NAME} a variable of the environment, and %% a percent
 * sign. -EINVAL and a sentence if the pattern has anything else, or %p without one process (`pid`
 * 0).
 */
int part_name(const char *pattern, u64 wall_ns, u32 number, pid_t pid, struct str *out,
	      struct str *why);

/* Whether two parts have different names: the pattern has %t or %n. */
bool part_names_differ(const char *pattern);

/* "90", "30s", "5m", "1h" or "1d". Returns false for other texts and for less than 1 s. */
bool part_duration_parse(const char *text, u64 *out_ns);
