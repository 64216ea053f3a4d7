/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Once a minute: finds changes that no event reports, such as processes whose exit was lost, and
 * containers without processes. Caches drop entries that were not used for a minute, and unused
 * frames are freed (docs/decisions/0012-frames-are-swept.md).
 */
#pragma once

#include "base/dict.h"

struct node;

#define SWEEP_NS (60 * NS_PER_SEC)

void sweep(struct node *n, u64 now_ns);

/* Frees unused frames earlier if there are many. Call it between turns. */
void sweep_if_full(struct node *n);

/* Reports every cache of the node. */
void node_each_cache(const struct node *n, cache_use_fn visit, void *ctx);
