// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The tables of processes. */
#include "node/tables.h"

struct unwind_rows_map unwind_rows SEC(".maps");
struct unwind_ranges_map unwind_ranges SEC(".maps");
struct unwind_procs_map unwind_procs SEC(".maps");
struct jvms_map jvms SEC(".maps");
struct context_places_map context_places SEC(".maps");
struct java_places_map java_places SEC(".maps");
