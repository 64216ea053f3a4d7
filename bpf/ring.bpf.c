// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The ring and the counters. Must be the first object on the link line. */
#include "ring.h"

u32 receiver_is_called;
const volatile char bpf_compiler[BPF_COMPILER_LEN] = __VERSION__;

struct records_map records SEC(".maps");
struct stats_map stats SEC(".maps");

char LICENSE[] SEC("license") = "Dual BSD/GPL";
