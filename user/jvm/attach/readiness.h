/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a process may be attached to, and whether it may get a SIGQUIT: the answer depends on the
 * process itself, on facts that only the kernel has (bpf/calls.h), and on earlier failed attaches.
 * Changes nothing except the list of failed attaches.
 */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "jvm/hotspot/hotspot.h"
#include "jvm/process/process_root.h"
#include "proc/mapping.h"
#include "proc/status.h"

/* Facts that only the kernel has. */
struct process_facts {
	bool are_known;
	u64 quit_handler; /* SIG_DFL, SIG_IGN or the address of its handler of SIGQUIT */
	u32 allowed;      /* a bit for each attach_call that no filter of its threads forbids */
};

/*
 * Sets the function that opens an iterator, which needs CAP_BPF and CAP_PERFMON. Returns its
 * descriptor, which the caller closes, or a negative errno.
 */
void task_facts_use(int (*open)(void));

/* Opens an iterator. Reading it needs no right. -ENOSYS without task_facts_use. */
int task_facts_open(void);

/*
 * Reads an iterator, once: the facts are as old as this call. `are_known` is false if it cannot be
 * read or lacks the process.
 */
void task_facts_read(int fd, pid_t pid, struct process_facts *out);

/*
 * Whether none of its seccomp filters ends a process that attaches. `starts_listener`: its attach
 * listener does not run yet. If not, `why` gets "reason; what to do".
 */
bool task_facts_allow(const struct process_facts *f, pid_t pid, bool starts_listener,
		      struct str *why);

#define READINESS_DEAF                                                                 \
	"it does not listen to SIGQUIT (-Xrs?) and has no attach socket in its /tmp; " \
	"start it without -Xrs, or with -XX:+StartAttachListener"

enum readiness {
	READY,
	NOT_YET, /* possible later */
	NEVER,
};

/*
 * Whether the process is a running HotSpot JVM of our architecture that permits agents and has
 * memory left. If not, `why` gets "reason; what to do".
 */
enum readiness readiness_to_attach(const struct process_root *t, struct str *why);

/* Whether the JVM's own flags and options, from any source, permit an agent. */
enum readiness readiness_of_vm(const struct hotspot *h, struct str *why);

/*
 * Whether SIGQUIT will start its attach listener. SIGQUIT kills a process that does not handle it,
 * and prints a thread dump in JVMs without attach. `handles_quit`: its flags say that it handles
 * the signal once it has started, however long that takes.
 */
enum readiness readiness_for_signal(const struct process_root *t, bool handles_quit,
				    struct str *why);

/*
 * Whether its handler of SIGQUIT is the JVM's, by its executable mappings. Any other one may end
 * the process.
 */
enum readiness readiness_of_handler(const struct process_facts *f, const struct mappings *code,
				    struct str *why);

/*
 * Whether live events are safe in this JVM. JDK 8 before 8u382 and the short-lived releases crash
 * in them (JDK-8173361, JDK-8245877, JDK-8305165).
 */
bool readiness_for_live_events(const char *jdk_version);

/*
 * JVMs in which an attach failed, remembered across runs. They are not tried again for a while,
 * which doubles with each further failure. There is a file per process in REFUSALS_FOLDER, which
 * root or we must own; without a writable folder nothing is remembered. An entry ends with its
 * process or with a successful attach.
 */
#define REFUSALS_FOLDER "/run/sysflame/refused"

struct refusal {
	u64 until_ns; /* CLOCK_BOOTTIME: no attach before */
	u32 nr;       /* consecutive failures */
	bool was_signalled;
	char reason[320];
};

/* Returns false if there is no entry for the process. */
bool refusal_read(struct process_id id, struct refusal *out);

/* Records one more failure. */
void refusal_add(struct process_id id, const char *reason, bool was_signalled);
void refusal_forget(struct process_id id);

/* Whether the process must not be tried now. `why` then gets "reason; what to do". */
bool refusal_holds(const struct refusal *r, struct str *why);
