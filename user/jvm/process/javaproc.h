/* SPDX-License-Identifier: Apache-2.0 */
/* The JVMs among the processes, and the facts that are visible from outside. */
#pragma once

#include "base/types.h"
#include "proc/status.h"

enum vm {
	VM_NONE,
	VM_HOTSPOT,
	VM_OPENJ9,
};

/* The VM that a process has mapped; VM_NONE also if it has ended or may not be inspected. */
enum vm javaproc_vm(pid_t pid);

/* Whether a mapping is code of a HotSpot VM. */
struct mapping;
bool javaproc_is_libjvm(const struct mapping *m);

/*
 * Whether the path of a mapping may be the agent's: the name of the agent's file, a name under
 * which it was delivered, or "/", the root of a mount that was removed.
 */
bool javaproc_is_agent(const char *path);

struct javaproc {
	struct process_id id;
	uid_t uid;
	enum vm vm;
	char *jdk;        /* "17.0.15", "1.8.0_382"; "?" if unknown */
	char *main;       /* main class, from the command line: see javaproc_main */
	bool has_agent;   /* an agent of sysflame is loaded; it stays until the JVM ends */
	bool has_session; /* and has a session */
};

/* Reads one JVM; -ESRCH if the process is not a JVM. All texts are clean UTF-8, owned by *out. */
int javaproc_read(pid_t pid, struct javaproc *out);
void javaproc_fini(struct javaproc *j);

/*
 * The main class of a process (main_class.h), or its program's name. `command` is the command that
 * the JVM keeps in its memory, or NULL. The caller frees it.
 */
char *javaproc_main(struct process_id id, const char *command);

struct javaprocs {
	struct javaproc *at;
	size_t nr, cap;
	size_t nr_hidden; /* processes whose mappings may not be read: JVMs may be among them */
};

/* All JVMs that are visible to us, by PID. */
int javaprocs_read(struct javaprocs *out);
void javaprocs_fini(struct javaprocs *all);
