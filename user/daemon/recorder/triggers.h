/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches the node by the rules of recorder.conf. When a rule's condition has held long enough,
 * FIRED is sent to the web process, which keeps the slices before, records, and reports. Quota and
 * cooldown count for a rule, not for each JVM.
 */
#pragma once

#include "capture/node.h"
#include "daemon/recorder/conf.h"
#include "daemon/recorder/outbox.h"

struct triggers;

struct triggers *triggers_new(struct node *n);
void triggers_free(struct triggers *t);

/*
 * Replaces the rules. A rule whose name was there before keeps its quota and its rest. If the
 * condition is the same, too, the time for which it has held so far keeps counting.
 */
void triggers_use(struct triggers *t, const struct conf *c);

/* `sampled` and `lost` count the samples of continuous profiling so far. */
void triggers_tick(struct triggers *t, u64 now_ns, u64 sampled, u64 lost, struct outbox *out);
