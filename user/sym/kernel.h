/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the kernel's code, its modules and BPF programs, from /proc/kallsyms. Its lines are
 * "ADDRESS TYPE NAME", followed by a tab and "[MODULE]" outside of the kernel image
 * (kernel/kallsyms.c, s_show). They contain no sizes.
 */
#pragma once

#include "base/auto.h"
#include "base/dict.h"
#include "base/types.h"
#include "base/vec.h"

struct kernel_syms;

/*
 * Reads /proc/kallsyms, which takes some 50 ms. -EPERM if it shows no addresses: that requires
 * CAP_SYSLOG, or kernel.kptr_restrict=0 together with kernel.perf_event_paranoid<=1. With
 * kernel.kptr_restrict=2 nobody sees them.
 */
int kernel_syms_read(struct kernel_syms **out);

/*
 * Why kernel_syms_read returned -EPERM: kernel.kptr_restrict=2, else CAP_SYSLOG is missing. Whoever
 * has CAP_SYSLOG is refused for the former only (kernel/ksyms_common.c, kallsyms_show_value).
 */
bool kernel_syms_are_hidden_from_all(void);

/* As kernel_syms_read, from an open file of the same format; `fd` stays the caller's. */
int kernel_syms_read_fd(int fd, struct kernel_syms **out);

/*
 * Reads again to add new symbols. For an address that kernel_syms_find does not know. Removed
 * symbols keep their names, for earlier samples, unless other code is there now. If there are more
 * than KERNEL_GONE_MAX removed symbols, only those keep their names that the previous read still
 * had. It costs as much as kernel_syms_read; the caller limits how often. `ks` is unchanged on
 * failure.
 */
#define KERNEL_GONE_MAX 32768
int kernel_syms_refresh(struct kernel_syms *ks);

/*
 * The function at `pc`, NULL if none is known. *module is "" for the kernel image, else "ext4",
 * "bpf", ...; *offset is that of `pc` in the function. The strings are valid until the next refresh
 * or free. Of several names of one address an exported one is preferred, then one with fewer
 * leading underscores, then a shorter one.
 */
const char *kernel_syms_find(const struct kernel_syms *ks, u64 pc, const char **module,
			     u64 *offset);

size_t kernel_syms_nr(const struct kernel_syms *ks);
size_t kernel_syms_bytes(const struct kernel_syms *ks);
void kernel_syms_free(struct kernel_syms *ks);

AUTO_DEFINE(kernel_syms, struct kernel_syms *, kernel_syms_free)
#define auto_kernel_syms __attribute__((cleanup(auto_kernel_syms_run)))

#define KERNEL_NAMES_BYTES (320u << 20) /* more than any kernel has */

/* Code that the kernel has made since a recording began. */
struct kernel_code {
	u64 start, end; /* [start, end) */
	char *name;     /* owned */
};

/*
 * The names over the time of a recording. The symbols are read at the first question, because
 * sampling should not wait for them. They are read again when code has no name, since modules and
 * BPF programs may have been loaded. {0} has not been read.
 */
struct kernel_names {
	struct kernel_syms *syms; /* NULL if they cannot be read */
	int err;
	u64 read_ns, nr_reads;
	/* pause before the next read; it grows after reads that gave no name */
	u64 pause_ns;
	struct aged unnamed;          /* pc -> nr_reads when first seen */
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
