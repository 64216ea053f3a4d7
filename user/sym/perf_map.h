/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of generated code from /tmp/perf-PID.map, which many runtimes write for perf. Its lines are
 * "START SIZE NAME", with hexadecimal numbers (tools/perf/Documentation/jit-interface.txt). The
 * target writes the file and may put anything into it.
 */
#pragma once

#include "base/types.h"

struct perf_map;

/* Parses text, which need not end in a NUL. Invalid lines are skipped and counted. */
struct perf_map *perf_map_parse(const char *text, size_t len);

/*
 * Reads the map of a process below the process's own root, without following links. The file must
 * be regular and belong to the process's user or to root, else -EPERM. -ENOENT if it does not
 * exist, -EFBIG beyond 64 MB.
 */
int perf_map_read(pid_t pid, struct perf_map **out);
void perf_map_free(struct perf_map *map);

/*
 * The name of the code at `pc`, NULL if it has none; valid until perf_map_free. Of overlapping
 * entries the one that starts last wins, of equal starts the later line.
 */
const char *perf_map_find(const struct perf_map *map, u64 pc);
size_t perf_map_nr_skipped(const struct perf_map *map);
