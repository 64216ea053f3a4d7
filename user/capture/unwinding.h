/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the unwinder's tables true to what processes map and to what JVMs look like. */
#pragma once

#include "capture/tables.h"
#include "jvm/jvms.h"
#include "proc/process.h"

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

/* What it has told BPF, valid until unwinding_free. */
const struct tables *unwinding_tables(const struct unwinding *u);
