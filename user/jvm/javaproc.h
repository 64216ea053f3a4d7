/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes are JVMs, and what can be told of them from outside. */
#pragma once

#include "base/types.h"

enum vm {
	VM_NONE,
	VM_HOTSPOT,
	VM_OPENJ9,
};

/* Which VM a process has mapped; VM_NONE also if it is gone or may not be looked into. */
enum vm javaproc_vm(pid_t pid);

struct javaproc {
	pid_t pid;
	u64 start_ns; /* CLOCK_BOOTTIME */
	uid_t uid;
	enum vm vm;
	char *jdk;      /* "17.0.15", "1.8.0_382"; "?" if unknown */
	char *main;     /* class, module/class or jar; the program's name if there is none to see */
	bool has_agent; /* an agent of sysflame is loaded, which stays until the JVM ends */
	bool has_session; /* and reports to someone */
};

/* Reads one JVM; -ESRCH if the process is none. All texts are clean UTF-8, owned by *out. */
int javaproc_read(pid_t pid, struct javaproc *out);
void javaproc_fini(struct javaproc *j);

struct javaprocs {
	struct javaproc *at;
	size_t nr, cap;
};

/* All JVMs that we may see, by PID. */
int javaprocs_read(struct javaprocs *out);
void javaprocs_fini(struct javaprocs *all);
