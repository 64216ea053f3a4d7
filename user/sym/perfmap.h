/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of generated code from /tmp/perf-PID.map, which many runtimes write for perf: lines of
 * "START SIZE NAME", numbers in hexadecimal (tools/perf/Documentation/jit-interface.txt). The file
 * is the target's and may hold anything.
 */
#pragma once

#include "base/types.h"

struct perfmap;

/* Parses text that need not end in a NUL; lines that make no sense are skipped and counted. */
struct perfmap *perfmap_parse(const char *text, size_t len);

/*
 * Reads the map of a process out of its own root folder, following no link, and only a regular
 * file that belongs to the process's user or to root. -ENOENT if there is none, -EPERM for what
 * it may not be, -EFBIG beyond 64 MB.
 */
int perfmap_read(pid_t pid, struct perfmap **out);
void perfmap_free(struct perfmap *map);

/*
 * The name of the code at `pc`, NULL if none; valid until perfmap_free. Where entries overlap the
 * one that starts last wins, and of equal starts the later line.
 */
const char *perfmap_find(const struct perfmap *map, u64 pc);
size_t perfmap_nr_skipped(const struct perfmap *map);
