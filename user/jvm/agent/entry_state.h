/* SPDX-License-Identifier: Apache-2.0 */
/* The next step of an attach to one JVM, after a result: another try later, or none. */
#pragma once

#include "jvm/agent/agents_entry.h"

void entry_set_reason(struct agents_entry *e, const char *reason);

void entry_refuse(struct agents_entry *e, const char *reason);

/* Also stores the refusal, because the JVM was contacted: the next runs must wait. */
void entry_refuse_and_keep(struct agents_entry *e, const char *reason);

/* Applies the refusal of an earlier run, unless the mode is AGENT_ALWAYS. */
void entry_recall(const struct agents *a, struct agents_entry *e);

/* The JVM is still starting: waits with the next try. Each wait is longer than the one before. */
void entry_wait_longer(struct agents_entry *e, const char *reason);

/* An attach failed: retries a few times, then refuses. */
void entry_fail(struct agents_entry *e, const struct inject_result *result);

/*
 * Skips the attach: the JVM would print a warning, and only names are needed, which are read
 * without an agent.
 */
void entry_spare(struct agents_entry *e, const char *reason);

/*
 * No VM can be read in the process. The next try also accepts a process without a readable VM, and
 * waits for its turn.
 */
void entry_doubt(struct agents_entry *e, const char *reason);

/*
 * The cause of a refusal may have passed, or somebody asks anew after the agent was detached:
 * attaches again.
 */
void entry_try_again(const struct agents *a, struct agents_entry *e);
