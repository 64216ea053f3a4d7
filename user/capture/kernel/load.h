/* SPDX-License-Identifier: Apache-2.0 */
/* Loading BPF programs: the part common to those of the node and of a recording. */
#pragma once

#include "base/types.h"

struct bpf_map;
struct bpf_object;

/*
 * Sets up libbpf. If this process has no right to load programs, logs the missing rights and
 * returns an error.
 */
int load_begin(void);

/* Logs why loading failed with `err`, in one line with the missing right or feature. */
void load_explain(int err);

/* Sums the counters `first`, `first` + 1 .. of a map over CPUs. */
void load_sum_counters(const struct bpf_map *map, u32 first, u64 *sums, u32 nr);

/*
 * The kernel knows the run time of BPF programs while this descriptor is open. Needs CAP_SYS_ADMIN.
 * Negative errno.
 */
int load_timing_open(void);

/* The run time of all programs of the object so far; 0 unless the kernel knows it. */
u64 load_run_ns(const struct bpf_object *o);
