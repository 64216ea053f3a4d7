/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uprobes in the files that recorded processes map. Workers search the places in a file; the probes
 * are placed as soon as they are known, at once or in a later tick. If all processes are recorded,
 * a file gets them once; otherwise in each recorded process, to spare the others.
 */
#pragma once

#include "base/vec.h"
#include "capture/programs/detacher.h"
#include "proc/process.h"
#include "sym/files/places.h"

struct bpf_link;
struct probes;

typedef VEC(struct bpf_link *) probe_links;

/* A file that a process maps. */
struct probe_file {
	int fd;
	u32 number; /* of the file: always the same for a file, less than nr_files_max */
	pid_t pid;  /* the only process to get the probes, or -1 for all */
};

/* How an event places its probes. The functions get this structure and the `ctx` of probes_new. */
struct probe_placing {
	const char *name;     /* of the event, or the purpose of the probes */
	u32 nr_files_max;     /* with probes; a user other than root has a quarter of them */
	bool reports_missing; /* `place` is also called if no place was found */
	/* Fills in the question about a file; false if it can have no probes. */
	bool (*ask)(const struct probe_placing *self, const struct probe_file *f,
		    struct places_query *query, void *ctx);
	/*
	 * Places probes and adds the links to *out. Returns whether the file can have such probes.
	 */
	bool (*place)(const struct probe_placing *self, const struct probe_file *f,
		      const struct places *found, probe_links *out, void *ctx);
};

/* `workers` may be NULL: this process searches. Both pointers must outlive the probes. */
struct probes *probes_new(struct workers *workers, bool by_process,
			  const struct probe_placing *placing, void *ctx);

/*
 * Probes in a known file: `place` is called once for each process, before its mappings are known.
 * `ctx` is on the heap; the probes take it over.
 */
typedef void (*probes_place_known_fn)(pid_t pid, probe_links *out, void *ctx);
struct probes *probes_new_known(probes_place_known_fn place, void *ctx);

/* Detaches all probes; the files that had them remain known. */
void probes_take_off(struct probes *p, struct detacher *detacher);
void probes_free(struct probes *p);

/* Checks the files that the process maps. Call it again when the process maps more. */
void probes_add_process(struct probes *p, const struct process *process);

/* Places probes in files whose search has ended since. Call it at every tick. */
void probes_poll(struct probes *p, const struct processes *all);

/* Forgets files that are no longer used (probe_files_turn). */
void probes_turn(struct probes *p);

/* Whether a file is being searched. */
bool probes_are_searching(const struct probes *p);

/* The process has ended, or needs no probes any more. */
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
