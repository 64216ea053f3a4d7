/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The unwinder's BPF sources as one piece of C for the host. Include it in one .c file, with
 * bpf/host first on the include path, and define there the helpers of bpf/host/bpf/bpf_helpers.h.
 */
#pragma once

#include "../maps.bpf.c"
#include "../node/tables.bpf.c"
#include "../ring.bpf.c"
#include "../unwind/blob.bpf.c"
#include "../unwind/chunk.bpf.c"
#include "../unwind/continuation.bpf.c"
#include "../unwind/native.bpf.c"
#include "../unwind/step.bpf.c"

#include "sources.h"
