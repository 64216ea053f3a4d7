/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernel code over the time of a recording. The symbols are read at the first question,
 * because sampling should not wait for them. They are read again when code has no name, since
 * modules and BPF programs may have been loaded.
 */
#pragma once

#include "base/dict.h"

struct kernel_syms;

/* {0} has not been read. */
struct kernel_names {
	struct kernel_syms *syms; /* NULL if they cannot be read */
	int err;
	u64 read_ns, nr_reads;
	u64 pause_ns;        /* before the next read; longer after reads that gave no name */
	struct dict unnamed; /* pc -> nr_reads when first seen */
};

/* The symbol and its module ("" for the kernel's own), or NULL. */
const char *kernel_names_find(struct kernel_names *k, u64 pc, const char **module);
void kernel_names_fini(struct kernel_names *k);
