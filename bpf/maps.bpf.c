// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The maps of a recording. */
#include "maps.h"

const volatile struct knobs knobs;
u32 backlog_halvings;
u64 clock_function;

struct scratches_map scratches SEC(".maps");
struct targets_map targets SEC(".maps");
struct target_comms_map target_comms SEC(".maps");
struct target_users_map target_users SEC(".maps");
struct target_cgroups_map target_cgroups SEC(".maps");
struct waits_map waits SEC(".maps");
struct pendings_map pendings SEC(".maps");
struct costs_map costs SEC(".maps");
struct windows_map windows SEC(".maps");
struct hits_map hits SEC(".maps");
struct event_runs_map event_runs SEC(".maps");
struct clock_ids_map clock_ids SEC(".maps");
struct filters_map filters SEC(".maps");
struct filter_patterns_map filter_patterns SEC(".maps");
struct filter_works_map filter_works SEC(".maps");
struct event_counts_map event_counts SEC(".maps");
struct throttles_map throttles SEC(".maps");
struct memory_files_map memory_files SEC(".maps");
struct memory_calls_map memory_calls SEC(".maps");
struct memory_live_map memory_live SEC(".maps");
