/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the unwinder of bpf/ knows of processes: where what is mapped, the unwind rows of the files,
 * the layout of JVMs. BPF reads the tables while they change: a process's ranges are written to
 * fresh places, and then its one entry is replaced.
 */
#pragma once

#include "abi.h"
#include "hotspot_abi.h"
#include "proc/mapping.h"

struct tables;

/* How much the maps unwind_rows (nr_words / 2), unwind_ranges and jvms hold; set before loading. */
struct tables_sizes {
	u32 nr_words, nr_ranges, nr_jvms;
};

#define TABLES_SIZES_DEFAULT                                                 \
	{                                                                    \
		.nr_words = 3u << 20, .nr_ranges = 64u << 10, .nr_jvms = 256 \
	}

/* The maps' descriptors, which stay the caller's. */
struct tables_fds {
	int rows, ranges, procs, jvms;
};

/* `fds` NULL: tables in our own memory, for walks on the host. Negative errno if mmap fails. */
int tables_new(const struct tables_sizes *sizes, const struct tables_fds *fds, struct tables **out);
void tables_free(struct tables *t);

/*
 * Tells how to unwind the process: `mappings` are its executable ones. Builds the rows of files
 * that no process had mapped before. To be called again when its mappings change. After exec, with
 * which BPF itself forgets the process, tables_remove_process comes first. When the tables are
 * full, files and then processes that were not sampled for longest give way. -ENOSPC if one process
 * alone is too large: it keeps the kernel's frame-pointer walk.
 */
int tables_set_process(struct tables *t, pid_t pid, u64 start_ns, const struct mappings *mappings);

/*
 * Tells what the JVM `pid`, which tables_set_process has seen, looks like; again when its heaps
 * or names changed. NULL: it is none (any more).
 */
int tables_set_jvm(struct tables *t, pid_t pid, const struct hotspot_layout *layout);

/* The process ended; nothing happens if it is unknown or another one by now. */
void tables_remove_process(struct tables *t, pid_t pid, u64 start_ns);

/* Whether that very process has tables. */
bool tables_has_process(const struct tables *t, pid_t pid, u64 start_ns);

struct tables_usage {
	u32 nr_processes, nr_jvms, nr_modules, nr_modules_failed;
	u32 nr_rows, nr_ranges;
	u32 nr_evicted; /* processes that gave way */
	u64 build_ns;   /* CPU time of building rows */
};

struct tables_usage tables_usage(const struct tables *t);

/* What BPF sees, for walks on the host; NULL if the index is out of the table. */
const struct unwind_words *tables_words(const struct tables *t, u32 i);
const struct unwind_range *tables_range(const struct tables *t, u32 i);
const struct hotspot_layout *tables_jvm(const struct tables *t, u32 i);
const struct unwind_proc *tables_proc(const struct tables *t, pid_t pid);
