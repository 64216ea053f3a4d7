/* SPDX-License-Identifier: Apache-2.0 */
/* Names the jumps through which a module calls functions of other modules. */
#pragma once

#include "elf/elf.h"

/* Receives a jump, [vaddr, vaddr + size), and the name of its function. */
typedef void plt_visit(void *arg, u64 vaddr, u32 size, const char *function);

/*
 * Visits the entries of .plt, .plt.sec and .plt.got. Visits nothing on other machines than x86-64.
 */
void plt_each(const struct elf *e, plt_visit *visit, void *arg);
