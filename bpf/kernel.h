/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Kernel types and BPF helpers. Every BPF source and header includes this first. */
#pragma once

#include <vmlinux.h> /* first: the headers below need its types */

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/*
 * Hides a variable's value from the compiler. Otherwise it rewrites code into forms that the
 * verifier rejects, or in which no two passes of a loop look alike.
 */
#define keep_as_written(variable) asm volatile("" : "+r"(variable))
