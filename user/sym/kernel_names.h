/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernel code over the time of a recording. The symbols are read at the first question,
 * because sampling should not wait for them. They are read again when code has no name, since
 * modules and BPF programs may have been loaded.
 */
#pragma once

#include "base/dict.h"
#include "base/vec.h"

#define KERNEL_NAMES_BYTES (320u << 20) /* more than any kernel has */

struct kernel_syms;

/* Code that the kernel has made since a recording began. */
struct kernel_code {
	u64 start, end; /* [start, end) */
	char *name;     /* owned */
};

/* {0} has not been read. */
struct kernel_names {
	struct kernel_syms *syms; /* NULL if they cannot be read */
	int err;
	u64 read_ns, nr_reads;
	u64 pause_ns;        /* before the next read; longer after reads that gave no name */
	struct aged unnamed; /* pc -> nr_reads when first seen */
	VEC(struct kernel_code) made; /* oldest first; the newest that holds a pc names it */
};

/*
 * Adds code of the kernel, which has that name from now on. The kernel gives the memory of BPF
 * programs to others, so that the symbols read before would name them wrongly.
 */
void kernel_names_add(struct kernel_names *k, u64 start, u64 end, const char *name);

/* The symbol and its module ("" for the kernel's own), or NULL. */
const char *kernel_names_find(struct kernel_names *k, u64 pc, const char **module);

/* Forgets the pcs without a name that were not asked for since the previous call. */
void kernel_names_turn(struct kernel_names *k);

/* The number of symbols, and the memory of all that is kept. */
size_t kernel_names_nr(const struct kernel_names *k);
size_t kernel_names_bytes(const struct kernel_names *k);
void kernel_names_fini(struct kernel_names *k);
