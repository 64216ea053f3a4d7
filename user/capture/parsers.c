/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of the recorder's workers. */
#include "capture/parsers.h"

#include "capture/unwind/moved_text.h"
#include "capture/unwind/row_build.h"
#include "jvm/process/code_dependencies.h"
#include "sym/files/parse_symbols.h"
#include "sym/files/perf_map.h"
#include "sym/files/places.h"

static const worker_fn tasks[PARSER_TASKS] = {
	[WORKER_ROWS] = row_build_task,        [WORKER_PERF_MAP] = perf_map_task,
	[WORKER_HEADERS] = parse_headers_task, [WORKER_SYMBOLS] = parse_symbols_task,
	[WORKER_PLACES] = places_task,         [WORKER_DEPENDENCIES] = code_dependencies_task,
	[WORKER_MOVED_TEXT] = moved_text_task,
};

const struct worker_kind parsers = PARSER_KIND(tasks);

int parsers_new(struct workers **out)
{
	return workers_begin(&parsers, out);
}
