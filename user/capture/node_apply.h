/* SPDX-License-Identifier: Apache-2.0 */
/* Applies records to the node's processes and to its recordings, in order of time. Private to
 * node.c. */
#pragma once

#include "capture/samples/inbox.h"

struct node;

/* Applies an item of any kind. The item keeps its record. */
void node_apply(struct node *n, const struct item *item);

/* The process has ended, and no record reported it. */
void node_apply_lost_exit(struct node *n, struct process *p, u64 time_ns);
