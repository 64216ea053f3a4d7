/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of generated code of all processes, from their perf maps (sym/files/perf_map.h). Workers
 * parse the maps. All maps together have a budget; those of a user other than root get a quarter of
 * it.
 */
#pragma once

#include "proc/mapping.h"
#include "proc/status.h"
#include "sandbox/workers.h"

#define GENERATED_CODE_BYTES (64u << 20) /* of all maps */

struct generated_code;

/* With `workers` NULL maps are parsed in this process. */
struct generated_code *generated_code_new(struct workers *workers);
void generated_code_free(struct generated_code *g);

/* Drops all maps, to be read again when they are needed. */
void generated_code_drop(struct generated_code *g);

/* Drops the map of a process that has ended. */
void generated_code_forget(struct generated_code *g, struct process_id id);

/* Drops the maps that were not used since the previous call. */
void generated_code_turn(struct generated_code *g);

/* The number of maps, and their memory. */
size_t generated_code_nr(const struct generated_code *g);
size_t generated_code_bytes(const struct generated_code *g);

/*
 * Whether the mapping is memory of the process and not a file with a program. Such memory may have
 * a path and an inode: a memfd, /dev/shm, shared anonymous memory, System V segments, huge pages.
 * Some runtimes map their code twice, to write it at one address and run it at the other.
 */
bool generated_code_can_be_in(const struct mapping *m);

/* A process, and its program since that time of CLOCK_BOOTTIME. */
struct generated_by {
	struct process_id id;
	u64 program_ns;
};

/*
 * *name gets the name of the code at `pc`, valid until the next call. -ENOENT: it has none.
 * -EAGAIN: the map is being read, or has changed and will be read; ask again. A map that was last
 * changed before the program began is another program's. A map that has changed gives no names
 * until it is read again, a second later at least. If a pc is missing, that time doubles with each
 * read that did not bring it. A large map that has only grown gives its old names until then.
 */
int generated_code_name(struct generated_code *g, struct generated_by by, u64 pc,
			const char **name);

/* Maps that were left out. */
struct maps_left_out {
	u64 nr;    /* processes */
	pid_t pid; /* the last process whose map was left out, its user, and the reason */
	uid_t user;
	const char *why;
};

const struct maps_left_out *generated_code_left_out(const struct generated_code *g);
