/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker: a process without privileges that parses the files of others. It has no capabilities
 * and no descriptors except those it was sent. It runs as a user that no other process has. A
 * seccomp filter ends it if it opens, executes or connects anything.
 */
#pragma once

#include "sandbox/protocol.h"

/* The work of the recorder's workers (capture/parsers.h). */
enum parser_task {
	WORKER_ROWS,         /* unwind rows of a file: capture/unwind/row_build.h */
	WORKER_PERF_MAP,     /* names of generated code: sym/files/perf_map.h */
	WORKER_HEADERS,      /* build id and segments of a file: sym/files/parse_symbols.h */
	WORKER_SYMBOLS,      /* functions of a file: sym/files/parse_symbols.h */
	WORKER_PLACES,       /* where probes go in a file: sym/files/places.h */
	WORKER_DEPENDENCIES, /* a variable of libjvm: jvm/process/code_dependencies.h */
	WORKER_MOVED_TEXT,   /* memory compared with a file: capture/unwind/moved_text.h */
	PARSER_TASKS,
};

#define PARSER_MEMORY  (256u << 20) /* .gnu_debugdata takes 72 MB to decompress, and then 64 MB */
#define PARSER_CPU_NS  (4 * 1000000000ull)  /* a file that takes more CPU time is given up */
#define PARSER_WALL_NS (20 * 1000000000ull) /* and so is one that takes longer altogether */

/* A task as its function sees it. */
struct worker_io;

/*
 * Does a task in the worker: reads the files `fds`, adds the result with worker_put, returns 0 or a
 * negative errno. The descriptors are closed by the caller.
 */
typedef int (*worker_fn)(struct worker_io *io, const int *fds, const void *params, size_t len);

/* The tasks and limits of workers. */
struct worker_kind {
	const worker_fn *tasks; /* by the number of the task */
	u32 nr_tasks;
	u64 memory_bytes; /* that a worker may allocate */
	u64 cpu_ns;       /* a task that takes more CPU time is given up */
	u64 wall_ns;      /* and so is one that takes longer altogether */
	/* a user other than root gets 1/share of a CPU in the long run; 0: no limit */
	u64 share;
	bool ends_after_task; /* a worker does one task */
};

/* The recorder's kind of workers, with the functions for its tasks. */
#define PARSER_KIND(functions)                                                               \
	{                                                                                    \
		.tasks = functions, .nr_tasks = PARSER_TASKS, .memory_bytes = PARSER_MEMORY, \
		.cpu_ns = PARSER_CPU_NS, .wall_ns = PARSER_WALL_NS, .share = 4               \
	}

/* Appends bytes to the result; -EFBIG beyond its limit. */
int worker_put(struct worker_io *io, const void *bytes, size_t len);

/*
 * Asks the recorder for another file: `path` in a place that the task's `open` knows. Returns a
 * descriptor, which the task closes, or a negative errno.
 */
int worker_open(struct worker_io *io, u32 place, const char *path);

/*
 * Opens a file for a task, in the recorder. The path was chosen by the worker: check it as if a
 * target had.
 */
typedef int (*worker_open_fn)(void *ctx, u32 place, const char *path);

/* Does a task at once in this process, for commands that have no workers. The caller frees *bytes.
 */
int worker_run_here(worker_fn run, const int *fds, const void *params, size_t len, size_t max,
		    worker_open_fn open, void *ctx, void **bytes, size_t *nr);

/*
 * The worker's main loop over the socket and the shared memory of WORKER_RESULT_MAX bytes. Returns
 * when the recorder closes its end. Call
 * sandbox_enter before.
 */
void worker_serve(int sock, void *shared, const struct worker_kind *kind);
