/* SPDX-License-Identifier: Apache-2.0 */
/* The JVMs of the node for the web process, with the CPU time that they use. */
#pragma once

#include "capture/node.h"
#include "recorder/outbox.h"

struct jvm_list;

struct jvm_list *jvm_list_new(struct node *n);
void jvm_list_free(struct jvm_list *l);

/* Sends the list if it is time for it. */
void jvm_list_tick(struct jvm_list *l, u64 now_ns, struct outbox *out);
