/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The tables of processes. The node's programs own them, and those of every recording read them.
 * user/capture/unwind/tables.c fills those of the unwinder and sets their sizes,
 * user/capture/samples/requests.c fills context_places, user/capture/samples/java_labels.c
 * java_places.
 */
#pragma once

#include "kernel.h"

#include "abi.h"

struct unwind_rows_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unwind_words);
};
extern struct unwind_rows_map unwind_rows SEC(".maps");

struct unwind_ranges_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unwind_range);
};
extern struct unwind_ranges_map unwind_ranges SEC(".maps");

struct unwind_procs_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, u32); /* pid */
	__type(value, struct unwind_proc);
};
extern struct unwind_procs_map unwind_procs SEC(".maps");

struct context_places_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, CONTEXT_PLACES);
	__type(key, u32); /* pid */
	__type(value, struct context_place);
};
extern struct context_places_map context_places SEC(".maps");

struct java_places_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, JAVA_PLACES);
	__type(key, u32); /* pid */
	__type(value, struct java_place);
};
extern struct java_places_map java_places SEC(".maps");

struct jvms_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hotspot_layout);
};
extern struct jvms_map jvms SEC(".maps");
