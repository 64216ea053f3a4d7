/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the jumps through which a module calls functions of others. */
#pragma once

#include "elf/elf.h"

/* Is told of a jump, [vaddr, vaddr + size), and of the function it leads to. */
typedef void plt_visit(void *arg, u64 vaddr, u32 size, const char *function);

/* Visits the entries of .plt, .plt.sec and .plt.got; x86-64 only, elsewhere none. */
void plt_each(const struct elf *e, plt_visit *visit, void *arg);
