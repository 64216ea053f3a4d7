/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a JVM as the `java` launcher reads it. */
#pragma once

#include "base/types.h"

struct java_args {
	const char *main;   /* class, module/class or jar as given; "" if unknown */
	size_t main_at;     /* its index; nr of arguments if unknown */
	size_t nr_argfiles; /* @FILE arguments before it; they may contain options and the class */
};

/*
 * Reads arguments in the form of /proc/PID/cmdline: `len` bytes, each argument NUL-terminated, the
 * program first. The result points into them.
 */
void java_args_parse(const char *cmdline, size_t len, struct java_args *out);

/* The argument after `arg`, NULL after the last one. With `arg` NULL, the first one. */
const char *java_args_next(const char *cmdline, size_t len, const char *arg);
