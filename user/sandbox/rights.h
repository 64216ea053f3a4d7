/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rights of sysflame's processes. Capabilities: which process keeps which (docs/operations.md
 * has the same table). System calls that a process never needs: forbidden by seccomp(2). Files that
 * it may open: by landlock(7). Also starts a process with almost no rights, for a library that the
 * daemon does not trust.
 */
#pragma once

#include <linux/capability.h>

#include "base/str.h"
#include "base/types.h"

/* A set of capabilities, as in /proc/PID/status. */
#define CAPABILITY(number) (1ull << (number))
#define CAPABILITY_IDS     (CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID))

/* The effective set; 0 if the kernel does not report it. */
u64 capabilities_read(void);
bool capability_has(int number);

/* Makes `effective`, as far as permitted, the effective set. */
int capabilities_set(u64 effective);

/* Makes `kept`, as far as permitted, the permitted and the effective set; none is inheritable. */
int capabilities_keep(u64 kept);

/* "CAP_BPF"; "" for a capability that sysflame does not use. */
const char *capability_name(int number);

/*
 * Adds the remedy for an action that needs `wanted`: "run sysflame with CAP_A and CAP_B", the
 * missing ones. If none is missing, the sentence lists what else may forbid the action.
 */
void capabilities_add_remedy(struct str *out, u64 wanted);

/* The processes that keep different rights. */
enum privileged {
	PRIVILEGED_RECORDER,
	PRIVILEGED_ATTACH,  /* the helper that attaches, and its children */
	PRIVILEGED_OPENER,  /* opens files with the ids of other processes */
	PRIVILEGED_MEMORY,  /* reads memory for the recorder, and forks processes that do */
	PRIVILEGED_WEB,     /* serves HTTP for the daemon; keeps no capability */
	PRIVILEGED_NETWORK, /* talks to NATS or sends profiles; keeps no capability */
	PRIVILEGED_NR,
};

/* Reasons for which the recorder keeps more. */
enum privilege_reason {
	PRIVILEGE_ALWAYS = 0,
	PRIVILEGE_UPROBES = 1 << 0,  /* the kernel attaches uprobes only with CAP_SYS_ADMIN */
	PRIVILEGE_PARANOID = 1 << 3, /* the kernel opens perf events only with CAP_SYS_ADMIN */
	PRIVILEGE_MEASURE = 1 << 1,  /* the run time of BPF programs is measured */
	PRIVILEGE_OUTPUT = 1 << 2,   /* the output's folder admits its owner only */
};

struct privilege {
	enum privileged process;
	int number;           /* CAP_ */
	int stand_in;         /* a wider capability, kept if this one is missing; -1: none */
	u32 reason;           /* kept only for this reason, enum privilege_reason */
	const char *name;     /* of the process */
	const char *purpose;  /* what the process needs it for */
	const char *if_asked; /* the reason in words; NULL for PRIVILEGE_ALWAYS */
};

/* Calls `visit` with each line of the table. */
typedef void (*privilege_fn)(const struct privilege *p, void *ctx);
void privileges_each(privilege_fn visit, void *ctx);

/* The capabilities, out of `held`, that the process keeps. `reasons`: bits of privilege_reason. */
u64 privileges_of(enum privileged process, u32 reasons, u64 held);

/*
 * Drops all other capabilities for good, from all sets, and forbids to gain any (NoNewPrivs). Only
 * for this thread and those that it starts later. A missing capability is no error. Returns a
 * negative errno.
 */
int privileges_keep(enum privileged process, u32 reasons);

/*
 * Has the calling thread, and the processes that it starts later, run before ordinary ones: by the
 * lowest real-time priority, or niceness -20 where that is refused. For short work that others wait
 * for; it needs CAP_SYS_NICE. Niceness counts only among the threads of a control group or session
 * (sched_autogroup).
 */
void precedence_take(void);

/*
 * Makes system calls fail with EPERM in all threads of this process: to execute programs, trace or
 * write to processes, load modules or kernels, and others that change the machine. All but
 * PRIVILEGED_ATTACH also lose mounts, namespaces, new processes and connections;
 * PRIVILEGED_WEB may still accept connections, PRIVILEGED_NETWORK make them, and
 * PRIVILEGED_OPENER make them on this machine (AF_UNIX).
 * PRIVILEGED_MEMORY may make only the few calls by which it forks and reads memory. The calls fail
 * rather than end the process: a recording must not be lost because a library tries one. Needs
 * NoNewPrivs or CAP_SYS_ADMIN. Returns a negative errno.
 */
int call_filter_load(enum privileged process);

/* A file or folder with everything below it. */
struct file_grant {
	const char *path; /* NULL: `fd`; a missing file is no error */
	int fd;           /* of a folder that the caller has open */
	bool writes;      /* also to write, create and remove files and folders */
};

/*
 * Denies everything else to this process. Descriptors that are open stay usable. Needs NoNewPrivs.
 * -ENOSYS or -EOPNOTSUPP: the kernel has no Landlock.
 */
int file_filter_load(const struct file_grant *grants, size_t nr);

/*
 * A process of its own for a library that the daemon does not trust, with a socket to the one that
 * started it. A small process above it starts it again after a crash: the web process may not fork.
 */

/* Serves until the other end of `sock` (SOCK_SEQPACKET) is closed. Returns an exit status. */
typedef int (*guarded_fn)(int sock, const void *ctx);

/*
 * Starts both processes; they see the memory as it is now. No other descriptor stays open in them.
 * *sock does not block; closing it ends them. A status other than 0 is a crash. Negative errno.
 */
int guarded_start(guarded_fn run, const void *ctx, int *sock);

/*
 * Takes all rights from this process but those that a client of the network needs: to connect, to
 * start threads, and to read the files of name resolution and certificates, and `dir`, which may be
 * NULL. Negative errno.
 */
int guarded_confine(const char *dir);
