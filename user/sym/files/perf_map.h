/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of generated code from /tmp/perf-PID.map, which many runtimes write for perf. Its lines are
 * "START SIZE NAME", with hexadecimal numbers (tools/perf/Documentation/jit-interface.txt). The
 * target writes the file and may put anything into it.
 */
#pragma once

#include "base/types.h"
#include "base/vec.h"
#include "sandbox/worker.h"

struct perf_map_entry {
	u64 start, end;
	u32 line;
	u32 name; /* offset in `names` */
};

struct perf_map {
	VEC(struct perf_map_entry) entries; /* sorted by start; starts are distinct after parsing */
	VEC(char) names;
};

/* A parsed map as a worker's result: this head, the entries, the names. */
struct perf_map_head {
	u64 nr_entries, nr_names;
};

/* Identifies the file that a map was read from. A file that has changed is another source. */
struct perf_map_source {
	u64 dev, inode, size, changed_ns;
	uid_t user; /* of the process */
};

bool perf_map_same_source(const struct perf_map_source *a, const struct perf_map_source *b);

/*
 * Opens the map of a process below the process's own root, without following links. The file must
 * be regular and belong to the process's user or to root, else -EPERM. -ENOENT if it does not
 * exist.
 */
int perf_map_open(pid_t pid, struct perf_map_source *out);

/*
 * A worker's part, in perf_map_task.c: parses the open map; the result is for perf_map_decode.
 * Takes no parameters. -EFBIG beyond 64 MB.
 */
int perf_map_task(struct worker_io *io, const int *fds, const void *params, size_t len);

/* Checks and takes a worker's result. -EBADMSG. */
int perf_map_decode(const void *bytes, size_t nr, struct perf_map **out);

/* Parses text, which need not end in a NUL. Skips invalid lines. */
struct perf_map *perf_map_parse(const char *text, size_t len);

void perf_map_free(struct perf_map *map);

/*
 * The name of the code at `pc`, NULL if it has none; valid until perf_map_free. Of overlapping
 * entries the one that starts last wins, of equal starts the later line.
 */
const char *perf_map_find(const struct perf_map *map, u64 pc);
size_t perf_map_bytes(const struct perf_map *map);
