/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Features of the running kernel: its version, functions and types (BTF). programs.h has the
 * functions that other folders use.
 */
#pragma once

#include "base/types.h"

/*
 * The name of a kernel function with the compiler's suffix. NULL, with errno, if it does not exist
 * or cannot be looked up. The caller frees it.
 */
char *kernel_function(const char *wanted);

/* Whether the kernel reports that version or a newer one. */
bool kernel_is_from(unsigned major, unsigned minor);

/*
 * The kernel's types, NULL if they cannot be read. They take 15 ms to read and some 6 MB, and are
 * kept until kernel_types_forget.
 */
struct btf;
const struct btf *kernel_types(void);
void kernel_types_forget(void);

/*
 * The id of the kernel's type that a program in this section attaches to: "tp_btf/sched_switch".
 * -ESRCH if the kernel has none, or no program of ours has that section. Any thread may call it
 * after core_types_path.
 */
int kernel_types_attach_id(const char *section);

/*
 * The kernel's types that our BPF programs access, as a BTF file of some KB. libbpf compares each
 * type that a program accesses with all types of the kernel, and reads these for every object
 * (CO-RE, libbpf's relo_core.c). With this file it compares 20 types, not 130,000.
 *
 * A path for bpf_object_open_opts.btf_custom_path. The file is made by the first call and kept
 * until the process ends; what makes it is kept on disk for this kernel (elf/rowcache.h). NULL if
 * it cannot be made: libbpf then reads all types.
 *
 * The file has the names, sizes and members of types. Pointers lead nowhere, so the programs must
 * not ask for the ids of types (bpf_core_type_id_kernel) or match whole types
 * (bpf_core_type_matches).
 */
const char *core_types_path(void);
