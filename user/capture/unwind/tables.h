/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the unwinder in bpf/: mappings of processes, unwind rows of files, layouts of JVMs.
 * BPF reads them while they change. A process's ranges are therefore written to a free place first,
 * then its single entry is replaced.
 */
#pragma once

#include "abi.h"
#include "capture/programs/node_programs.h"
#include "hotspot_abi.h"
#include "proc/mapping.h"
#include "proc/status.h"
#include "proc/target_file.h"
#include "sandbox/workers.h"

struct tables;

/*
 * With `fds` NULL the tables are in our own memory, for walks on the host. Negative errno if mmap
 * fails.
 */
int tables_new(const struct tables_sizes *sizes, const struct tables_fds *fds, struct tables **out);
void tables_free(struct tables *t);

/* Lets workers compile the rows of files; see modules.h. */
void tables_use_workers(struct tables *t, struct workers *workers);

/*
 * Sets the mappings of a process; only executable ones matter. Builds rows of files that no process
 * had mapped before. Call it again when the mappings change. After exec call tables_remove_process
 * first, because BPF itself then forgets the process. When the tables are full, first files and
 * then the processes not sampled for longest are dropped. -ENOSPC if this process alone is too
 * large: its stacks are walked by frame pointers. `user` is its real user, to whom the rows of
 * files are charged; the first call for a process decides. -EAGAIN while rows of its files are
 * being built: nothing has changed, call it again.
 */
int tables_set_process(struct tables *t, struct process_id id, uid_t user,
		       const struct mappings *mappings);

/*
 * As tables_set_process, but without the rows that are still being built. -EAGAIN: the process is
 * known, but some of its stacks are cut; call it again.
 */
int tables_set_process_partly(struct tables *t, struct process_id id, uid_t user,
			      const struct mappings *mappings);

/* Ancestors of the process for which the calls above are made next: see struct mapper. */
void tables_set_ancestors(struct tables *t, const struct ancestors *ancestors);

/* Forgets files that no process maps. Call it once a minute. */
void tables_turn(struct tables *t);

/* Starts to build the rows of the process's files; does not wait. */
void tables_prepare(struct tables *t, struct process_id id, uid_t user,
		    const struct mappings *mappings);

/*
 * Sets the layout of the JVM `pid`, which tables_set_process must know. Call it again when its code
 * heaps or names change. NULL: the process is not a JVM, or no longer.
 */
int tables_set_jvm(struct tables *t, pid_t pid, const struct hotspot_layout *layout);

/* Removes the process, if it is known with that start time. */
void tables_remove_process(struct tables *t, struct process_id id);

/* Whether the process with that start time has tables. */
bool tables_has_process(const struct tables *t, struct process_id id);

/*
 * Notes the version of the mappings from which the process's tables were made, if it has tables.
 * tables_version returns that version, or 0.
 */
void tables_set_version(struct tables *t, struct process_id id, u64 version);
u64 tables_version(const struct tables *t, struct process_id id);

struct tables_usage {
	u32 nr_processes, nr_jvms, nr_modules, nr_modules_failed;
	u32 nr_rows, nr_ranges;
	u32 nr_evicted; /* processes dropped for lack of room */
	u32 nr_rows_max, nr_ranges_max;
	u64 modules_bytes;
	u64 build_ns; /* CPU time spent on building rows */
};

struct tables_usage tables_usage(const struct tables *t);

/*
 * The tables as BPF sees them, for walks on the host. NULL for an index or process that they do not
 * contain.
 */
const struct unwind_words *tables_words(const struct tables *t, u32 i);
const struct unwind_range *tables_range(const struct tables *t, u32 i);
const struct hotspot_layout *tables_jvm(const struct tables *t, u32 i);
const struct unwind_proc *tables_proc(const struct tables *t, pid_t pid);
