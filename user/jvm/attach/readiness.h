/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a process may be attached to, and whether it may get a SIGQUIT. Changes nothing. */
#pragma once

#include "base/str.h"
#include "jvm/attach/task_facts.h"
#include "jvm/hotspot/hotspot.h"
#include "jvm/process/process_root.h"
#include "proc/mapping.h"

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
