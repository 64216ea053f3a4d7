/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The unwinder's BPF sources as one piece of C for the host. Include it in one .c file with
 * bpf/host first on the include path, and define the helpers of bpf/host/bpf/bpf_helpers.h there.
 */
#pragma once

#include "../maps.bpf.c"
#include "../unwind_blob.bpf.c"
#include "../unwind_continuation.bpf.c"
#include "../unwind_hotspot.bpf.c"
#include "../unwind_interpreter.bpf.c"
#include "../unwind_native.bpf.c"
#include "../unwind_step.bpf.c"
