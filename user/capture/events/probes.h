/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uprobes in the files that recorded processes map. They are placed when a process is first seen.
 * If all processes are recorded, once for each file; otherwise in each recorded process, to spare
 * the others.
 */
#pragma once

#include "base/vec.h"
#include "capture/kernel/detacher.h"
#include "proc/process.h"

struct bpf_link;
struct probes;

typedef VEC(struct bpf_link *) probe_links;

/*
 * Places the event's probes in the file at `fd`, which a process maps, and adds the links to *out.
 * `number` is the file's, always the same for a file. `pid` is the only process to get the probes,
 * or -1 for all. Returns whether the file can have such probes.
 */
typedef bool (*probes_place_fn)(int fd, u32 number, pid_t pid, probe_links *out, void *ctx);

struct probes *probes_new(bool by_process, probes_place_fn place, void *ctx);

/*
 * Probes in a known file. `place` is called once for each process, with fd -1, whatever the process
 * maps so far. `ctx` is on the heap; the probes take it over.
 */
struct probes *probes_new_known(probes_place_fn place, void *ctx);

/* Detaches all probes; the files that had them remain known. */
void probes_take_off(struct probes *p, struct detacher *detacher);
void probes_free(struct probes *p);

/* Checks the files that the process maps. Call it again when the process maps more. */
void probes_add_process(struct probes *p, const struct process *process);

/* The process has ended. */
void probes_remove_process(struct probes *p, const struct process *process,
			   struct detacher *detacher);

/* Whether the process has probes of its own. */
bool probes_has(struct probes *p, const struct process *process);

/* The number of files that can have the probes. */
u32 probes_nr_files(const struct probes *p);

/*
 * Finds the file with probes that holds the process's code at `addr`: its number and the offset in
 * it. False if there is no such file. Also works after probes_take_off.
 */
bool probes_find_file(const struct probes *p, const struct process *process, u64 addr, u32 *number,
		      u64 *file_off);
