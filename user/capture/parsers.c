/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of the recorder's workers. */
#include "capture/parsers.h"

#include "capture/unwind/row_build.h"
#include "sym/parse_symbols.h"
#include "sym/perf_map.h"
#include "sym/places.h"

static const worker_fn tasks[PARSER_TASKS] = {
	[WORKER_ROWS] = row_build_task,        [WORKER_PERF_MAP] = perf_map_task,
	[WORKER_HEADERS] = parse_headers_task, [WORKER_SYMBOLS] = parse_symbols_task,
	[WORKER_PLACES] = places_task,
};

static const struct worker_kind parsers = {
	.tasks = tasks,
	.nr_tasks = PARSER_TASKS,
	.memory_bytes = 256u << 20, /* .gnu_debugdata takes 72 MB to decompress, and then 64 MB */
	.cpu_ns = PARSER_CPU_NS,
	.wall_ns = PARSER_WALL_NS,
	.share = 4,
};

int parsers_new(struct workers **out)
{
	return workers_new(&parsers, out);
}
