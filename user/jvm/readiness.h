/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a process may be attached to, and whether it may be sent SIGQUIT. Changes nothing. */
#pragma once

#include "base/str.h"
#include "jvm/hotspot.h"
#include "jvm/target.h"

enum readiness {
	READY,
	NOT_YET, /* it may be later */
	NEVER,
};

/*
 * Whether the process is a HotSpot JVM of our architecture that did not forbid agents, runs, and
 * has memory to spare. If not, `why` gets "reason; what to do".
 */
enum readiness readiness_to_attach(const struct target *t, struct str *why);

/*
 * Whether the JVM itself, by the flags and options that it goes by, wherever they came from, is
 * content with an agent.
 */
enum readiness readiness_of_vm(const struct hotspot *h, struct str *why);

/*
 * Whether SIGQUIT will start its attach listener: it kills every process that does not expect
 * it, and prints a thread dump in JVMs that do not offer attach.
 */
enum readiness readiness_for_signal(const struct target *t, struct str *why);

/*
 * Whether live events are safe in this JVM: JDK 8 before 8u382 and the short-lived releases crash
 * in them (JDK-8173361, JDK-8245877, JDK-8305165).
 */
bool readiness_for_live_events(const char *jdk_version);
