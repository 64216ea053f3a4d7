/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uprobes in whatever file the recorded processes map: placed when a process is met, once for a
 * file if all processes are recorded, else in each recorded process, so that the others do not
 * pay for them.
 */
#pragma once

#include "base/vec.h"
#include "capture/detacher.h"
#include "proc/process.h"

struct bpf_link;
struct probes;

typedef VEC(struct bpf_link *) probe_links;

/*
 * Places what belongs into the file at `fd`, which some process maps, and adds the links to *out.
 * `number` is the file's (the same whenever it is met again), `pid` the only process that is to
 * have the probes, or -1. Returns whether the file is one that can have them.
 */
typedef bool (*probes_place_fn)(int fd, u32 number, pid_t pid, probe_links *out, void *ctx);

struct probes *probes_new(bool by_process, probes_place_fn place, void *ctx);

/*
 * The same for probes in a file that is known: `place` is called once for each process, with no
 * file, whatever that maps so far. `ctx` is from the heap and the probes' own from here on.
 */
struct probes *probes_new_known(probes_place_fn place, void *ctx);

/* Takes all probes away; which files had them is still known. */
void probes_take_off(struct probes *p, struct detacher *detacher);
void probes_free(struct probes *p);

/* Looks at the files that the process maps; to be called again when it maps more. */
void probes_meet(struct probes *p, const struct process *process);

/* The process has ended. */
void probes_leave(struct probes *p, const struct process *process, struct detacher *detacher);

/* Whether the process has probes of its own. */
bool probes_has(struct probes *p, const struct process *process);

/* How many files were found that can have them. */
u32 probes_nr_files(const struct probes *p);

/*
 * Which of the files that can have probes holds the process's code at `addr`, its number in
 * *number, and where in it; false if none does. Also after probes_take_off.
 */
bool probes_find_file(const struct probes *p, const struct process *process, u64 addr, u32 *number,
		      u64 *file_off);
