/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the unwinder's tables true to what processes map and to what JVMs look like. */
#pragma once

#include "capture/inbox.h"
#include "capture/tables.h"
#include "jvm/jvms.h"
#include "proc/process.h"
#include "stat.h"

struct unwinding;

/* `jvms` stays the caller's. */
int unwinding_new(const struct tables_sizes *sizes, const struct tables_fds *fds, struct jvms *jvms,
		  struct unwinding **out);
void unwinding_free(struct unwinding *u);

/* The process is to have tables, or true ones again, from the next unwinding_update on. */
void unwinding_want(struct unwinding *u, const struct process *p);

/* Its old mappings are gone: exec, exit. */
void unwinding_forget(struct unwinding *u, const struct process *p);

void unwinding_update(struct unwinding *u, struct processes *all);

/*
 * If the stack of the sample was kept for that (RECORD_UNWALKED): the sample with its frames, for
 * the caller to free. Else NULL. `p` is the sample's process as it was at that time.
 */
struct sample *unwinding_walk(struct unwinding *u, struct process *p, const struct sample *kept);

/* Adds why these walks ended to the counters of BPF. */
void unwinding_stats(const struct unwinding *u, u64 stats[NR_STATS]);

/* What it has told BPF, valid until unwinding_free. */
const struct tables *unwinding_tables(const struct unwinding *u);
