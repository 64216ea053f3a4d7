/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of generated code of all processes, from their perf maps (sym/perf_map.h). Workers parse
 * the maps. All maps together have a budget; those of a user other than root get a quarter of it.
 */
#pragma once

#include "proc/process_id.h"
#include "worker/workers.h"

struct generated_code;

/* With `workers` NULL maps are parsed in this process. */
struct generated_code *generated_code_new(struct workers *workers);
void generated_code_free(struct generated_code *g);

/* Drops all maps, to be read again when they are needed. */
void generated_code_drop(struct generated_code *g);

/*
 * *name gets the name of the code at `pc`, valid until the next call. -ENOENT: it has none.
 * -EAGAIN: a worker is reading the map; ask again. A map is read again if a pc is missing, it has
 * changed, and enough time has passed.
 */
int generated_code_name(struct generated_code *g, struct process_id id, u64 pc, const char **name);

/* Maps that were left out. */
struct maps_left_out {
	u64 nr;    /* processes */
	pid_t pid; /* the last of them, its user, and why */
	uid_t user;
	const char *why;
};

const struct maps_left_out *generated_code_left_out(const struct generated_code *g);
