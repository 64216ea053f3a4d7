/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a JVM may be asked for calls of Java methods: not if it would drop all its compiled code.
 * Before JDK 23 that needs a variable of libjvm (code_dependencies.h), which a worker looks up.
 */
#pragma once

#include "jvm/agent/agents_entry.h"

/*
 * Takes the result of a command with the wanted hooks. If the JVM would drop its code as far as is
 * known, starts the look-up, or sets drops_code and the reason.
 */
void method_calls_note(struct agents *a, struct agents_entry *e,
		       const struct inject_result *result);

/* Takes the answer of the look-up: has the command sent again, or sets drops_code and the reason.
 */
void method_calls_poll(struct agents_entry *e);
