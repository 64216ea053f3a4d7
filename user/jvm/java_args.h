/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a JVM as the `java` launcher reads it. */
#pragma once

#include "base/types.h"

struct java_args {
	const char *main;   /* class, module/class or jar as given; "" if there is none to see */
	size_t main_at;     /* its index; nr if there is none */
	size_t nr_argfiles; /* @FILE before it: they may hold options and the class */
};

/*
 * Reads the arguments in /proc/PID/cmdline form: `len` bytes, each argument NUL-terminated, the
 * first is the program. The result points into them.
 */
void java_args_parse(const char *cmdline, size_t len, struct java_args *out);

/* The next argument behind `arg`, NULL behind the last one; NULL for `arg` gives the first. */
const char *java_args_next(const char *cmdline, size_t len, const char *arg);
