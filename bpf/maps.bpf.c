// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The definition of every map. Must be the first object on the link line. */
#include "maps.h"

const volatile struct knobs knobs;
u32 receiver_is_called;
u32 backlog_halvings;

struct records_map records SEC(".maps");
struct stats_map stats SEC(".maps");
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
struct event_counts_map event_counts SEC(".maps");
struct throttles_map throttles SEC(".maps");
struct remote_copies_map remote_copies SEC(".maps");
struct memory_files_map memory_files SEC(".maps");
struct memory_calls_map memory_calls SEC(".maps");
struct memory_live_map memory_live SEC(".maps");
struct unwind_rows_map unwind_rows SEC(".maps");
struct unwind_ranges_map unwind_ranges SEC(".maps");
struct unwind_procs_map unwind_procs SEC(".maps");
struct jvms_map jvms SEC(".maps");

char LICENSE[] SEC("license") = "Dual BSD/GPL";
