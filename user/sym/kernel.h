/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the kernel's code, its modules and BPF programs, from /proc/kallsyms. Its lines are
 * "ADDRESS TYPE NAME", followed by a tab and "[MODULE]" outside of the kernel image
 * (kernel/kallsyms.c, s_show). They contain no sizes.
 */
#pragma once

#include "base/auto.h"
#include "base/types.h"

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

/* The same from an open file of that format; `fd` stays the caller's. */
int kernel_syms_read_fd(int fd, struct kernel_syms **out);

/*
 * Reads again to add new symbols. For an address that kernel_syms_find does not know. Removed
 * symbols keep their names, for earlier samples, unless other code is there now. Beyond
 * KERNEL_GONE_MAX only those keep them that the previous read had. It costs as much as
 * kernel_syms_read; the caller limits how often. `ks` is unchanged on failure.
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
