/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the unwinder's tables up to date with the mappings of processes and the layouts of JVMs. */
#pragma once

#include "base/dict.h"
#include "capture/unwind/tables.h"
#include "jvm/hotspot/jvm_registry.h"
#include "proc/process.h"
#include "sandbox/workers.h"
#include "stat.h"

struct unwinding;

/* `jvms` stays the caller's. */
int unwinding_new(const struct tables_sizes *sizes, const struct tables_fds *fds,
		  struct jvm_registry *jvms, struct unwinding **out);
void unwinding_free(struct unwinding *u);

/* Lets workers read the files of processes; see modules.h. */
void unwinding_use_workers(struct unwinding *u, struct workers *workers);

/* Forgets files that no process maps. Call it once a minute. */
void unwinding_turn(struct unwinding *u);

/* Reports the tables. */
void unwinding_each_cache(const struct unwinding *u, cache_use_fn visit, void *ctx);

/* Requests tables for the process, or updated ones; unwinding_update builds them. */
void unwinding_want(struct unwinding *u, const struct process *p);

/* Forgets the process and its tables, because its mappings are gone: exec, exit. */
void unwinding_forget(struct unwinding *u, const struct process *p);

void unwinding_update(struct unwinding *u, struct processes *all);

/*
 * Whether the stack of that sample can be walked better a moment later, because rows of its process
 * are being built. Not for long.
 */
bool unwinding_must_wait(struct unwinding *u, struct process *p, const struct sample *kept);

/*
 * Walks the stack of a sample that BPF kept without walking it (RECORD_UNWALKED). Returns the
 * sample with its frames, for the caller to free; NULL for any other sample. `p` is the sample's
 * process as it was then.
 */
struct sample *unwinding_walk(struct unwinding *u, struct process *p, const struct sample *kept);

/* Adds the reasons for the ends of these walks to BPF's counters. */
void unwinding_stats(const struct unwinding *u, u64 stats[NR_STATS]);

/* The tables; valid until unwinding_free. */
const struct tables *unwinding_tables(const struct unwinding *u);
