/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Replaces libbpf's header. A file that includes a BPF source defines the helpers that it calls. */
#pragma once

#define SEC(name)
#define __hidden
#define __noinline __attribute__((noinline))
#undef __always_inline /* glibc has its own */
#define __always_inline   inline __attribute__((always_inline))
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name

/* Static, because libbpf has functions of the same names for user space. */
static void *bpf_map_lookup_elem(void *map, const void *key);
static long bpf_probe_read_user(void *dst, __u32 size, const void *unsafe_ptr);
static inline __u64 bpf_ktime_get_ns(void)
{
	return 0;
}
