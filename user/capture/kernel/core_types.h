/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's types that our BPF programs access, as a BTF file of some KB.
 *
 * libbpf compares each type that a program accesses with all types of the kernel, and reads these
 * for every object (CO-RE, libbpf's relo_core.c). With this file it compares 20 types, not 130,000.
 */
#pragma once

/*
 * A path for bpf_object_open_opts.btf_custom_path. The file is made by the first call and kept.
 * NULL if it cannot be made: libbpf then reads all types.
 *
 * The file has the names, sizes and members of types. Pointers lead nowhere, so the programs must
 * not ask for the ids of types (bpf_core_type_id_kernel) or match whole types
 * (bpf_core_type_matches).
 */
const char *core_types_path(void);
