/* SPDX-License-Identifier: Apache-2.0 */
/* Loading BPF programs: the part common to those of the node and of a recording. */
#pragma once

#include "base/types.h"

struct bpf_link;
struct bpf_map;
struct bpf_object;
struct bpf_program;

/* A program that the verifier has refused. */
struct load_refusal {
	char program[32]; /* "": none */
	char reason[256]; /* the last line of the verifier's log */
};

/*
 * Sets up libbpf. If this process has no right to load programs, logs the missing rights and
 * returns an error.
 */
int load_begin(void);

/*
 * Attaches a program of the section "tp_btf" or "iter". bpf_program__attach does not know what
 * these attach to: load_begin has replaced libbpf's handlers of these sections.
 */
struct bpf_link *load_attach(const struct bpf_program *p);

/*
 * Refusals of the programs that this thread loads are written to `out`, until this is called with
 * NULL.
 */
void load_watch(struct load_refusal *out);

/*
 * Logs why loading failed with `err`: the missing right or feature; or the refused program, its
 * compiler and the verifier's reason. `compiler` is bpf_compiler of the programs, NULL if unknown.
 */
void load_explain(int err, const struct load_refusal *refusal, const char *compiler);

/* Sums the counters `first`, `first` + 1 .. of a map over CPUs. */
void load_sum_counters(const struct bpf_map *map, u32 first, u64 *sums, u32 nr);

/*
 * The kernel knows the run time of BPF programs while this descriptor is open. Needs CAP_SYS_ADMIN.
 * Negative errno.
 */
int load_timing_open(void);

/*
 * How often the kernel skipped a run of the program (bpf_prog_inc_misses_counter). The kernel
 * counts since Linux 5.12 for programs of BTF tracepoints, since 6.7 for those of tracepoints and
 * kprobes, and never for programs of perf events.
 */
u64 load_nr_declined(const struct bpf_program *p);

/* The run time of all programs of the object so far; 0 unless the kernel knows it. */
u64 load_run_ns(const struct bpf_object *o);
