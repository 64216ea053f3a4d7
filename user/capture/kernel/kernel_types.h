/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Features of the running kernel: its version, functions and types (BTF). bpf.h has the functions
 * that other folders use.
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
