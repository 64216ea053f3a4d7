/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the numbers of all JVMs, with the names that belong to them. */
#pragma once

#include "capture/node.h"
#include "top/board.h"

struct jvm_rows;

/* Rows for these JVMs only, or for all if there are no PIDs. The array must outlive the rows. */
struct jvm_rows *jvm_rows_new(const pid_t *pids, size_t nr_pids);
void jvm_rows_free(struct jvm_rows *r);

/*
 * Replaces the rows of `out` by a reading at `now_ns` (CLOCK_MONOTONIC). Their texts are valid
 * until the next reading. jvm_rows_search works without a node: it searches /proc every few
 * seconds.
 */
void jvm_rows_read(struct jvm_rows *r, struct node *n, u64 now_ns, struct board *out);
void jvm_rows_search(struct jvm_rows *r, u64 now_ns, struct board *out);
