/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the Java programs of tests/programs. JDK=N selects one of tests/jvm/jdks instead of the
 * host's.
 */
#pragma once

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/types.h"

/* What the Java programs lack here, or NULL. */
static inline const char *java_lacking(void)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/tests/programs/.java", getenv("O") ?: "build");
	return access(path, F_OK) ? "make test-programs has not built the Java programs" : NULL;
}

/* Called in a new child: executes `java ARGS` with its output to `out`. */
static inline void java_exec(int out, const char *args)
{
	const char *jdk = getenv("JDK"), *o = getenv("O");
	char command[2048];

	o = o ? o : "build";
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(out, STDOUT_FILENO);
	if (jdk)
		snprintf(command, sizeof(command),
			 "exec tests/jvm/jdks run %s %s/tests/programs -cp . %s", jdk, o, args);
	else
		snprintf(command, sizeof(command), "exec java -cp %s/tests/programs %s", o, args);
	execl("/bin/sh", "sh", "-c", command, NULL);
	_exit(127);
}

/* Starts `java ARGS`, which reads lines from *in and writes lines to *out. -1 if it cannot. */
static inline pid_t java_converse(const char *args, FILE **in, FILE **out)
{
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		return -1;
	pid_t child = fork();
	if (!child) {
		dup2(to[0], STDIN_FILENO);
		close(to[1]);
		java_exec(from[1], args);
	}
	close(to[0]);
	close(from[1]);
	*in = fdopen(to[1], "we");
	*out = fdopen(from[0], "re");
	return child;
}

/* The PID of the running JVM: tests/jvm/jdks runs java as the child of unshare. */
static inline pid_t java_pid(pid_t child)
{
	char path[64];
	int pid = child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", child, child);
	FILE *f = getenv("JDK") ? fopen(path, "re") : NULL;
	if (f && fscanf(f, "%d", &pid) != 1)
		pid = child;
	if (f)
		fclose(f);
	return pid;
}

/* Kills the JVM and removes its attach socket, which a later JVM with that PID could not replace.
 */
static inline void java_end(pid_t child)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/.java_pid%d", child);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	unlink(path);
}
