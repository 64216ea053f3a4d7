/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernel code, of modules and of BPF programs, from /proc/kallsyms. Its lines are
 * "ADDRESS TYPE NAME" and, for what is no part of the kernel image, a tab and "[MODULE]"
 * (kernel/kallsyms.c, s_show); there are no sizes.
 */
#pragma once

#include "base/auto.h"
#include "base/types.h"

struct kernel_syms;

/*
 * Reads /proc/kallsyms (some 50 ms). -EPERM if it shows no addresses: that takes CAP_SYSLOG,
 * or kernel.kptr_restrict=0 together with kernel.perf_event_paranoid<=1.
 */
int kernel_syms_read(struct kernel_syms **out);

/* The same from an open file of that form; the caller keeps `fd`. */
int kernel_syms_read_fd(int fd, struct kernel_syms **out);

/*
 * Reads again what has come since; what has gone keeps its name, so that samples taken before
 * can still be named. For an address that kernel_syms_find does not know. It costs as much as
 * kernel_syms_read, so that the caller limits how often. `ks` stays as it was on failure.
 */
int kernel_syms_refresh(struct kernel_syms *ks);

/*
 * The function that holds `pc`, NULL if none is known. *module is "" for the kernel image, else
 * "ext4", "bpf", ...; *offset is that of `pc` in the function. The strings live until the next
 * refresh or free. Of several names of one address the exported ones win, then the one with the
 * fewest leading underscores, then the shortest.
 */
const char *kernel_syms_find(const struct kernel_syms *ks, u64 pc, const char **module,
			     u64 *offset);
size_t kernel_syms_bytes(const struct kernel_syms *ks);
void kernel_syms_free(struct kernel_syms *ks);

AUTO_DEFINE(kernel_syms, struct kernel_syms *, kernel_syms_free)
#define auto_kernel_syms __attribute__((cleanup(auto_kernel_syms_run)))
