/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory and time the reports of agents may take: in total, and a quarter of that for the
 * processes of a user. JVMs of others keep their names whatever one user's processes report.
 */
#pragma once

#include "jvm/agent/agents_entry.h"

#define AGENTS_BYTES (256ull << 20)

/* Sums up what all entries keep. Call it at the begin of each poll. */
void budget_begin(struct agents *a);

/* Limits what the next read of `e` may keep. False if its user's time in this poll is used up. */
bool budget_allow(struct agents *a, struct agents_entry *e);

/* Charges the user of `e` for a read that began at `began_ns`. */
void budget_charge(struct agents *a, struct agents_entry *e, u64 began_ns);

/* Whether the data of an ended JVM has to go early. */
bool budget_is_short(struct agents *a, const struct agents_entry *e);
