/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the outermost functions of most stacks by their code, in files without .symtab: the thread
 * start of clone3, start_thread, __libc_start_call_main, _start, main. x86-64 only. Each is proven
 * by its own code or by code and tables that refer to it, never by its place alone.
 *
 * Sources: glibc sysdeps/unix/sysv/linux/x86_64/{clone,clone3}.S, nptl/pthread_create.c,
 * sysdeps/nptl/libc_start_call_main.h, sysdeps/x86_64/start.S.
 */
#pragma once

#include "base/types.h"
#include "elf/elf.h"

/* Exported functions of the file; 0 if the file does not export the function. */
struct role_anchors {
	u64 pthread_create, clone, libc_start_main, exit;
};

/* Receives a function. Size 0 means up to the next function. */
typedef void role_visit(void *arg, u64 vaddr, u32 size, const char *name);

/*
 * Visits the functions that it finds. `starts`: the first addresses of functions, ascending
 * (elf/functions.h).
 */
void roles_each(const struct elf *e, const struct role_anchors *anchors, const u64 *starts,
		size_t nr_starts, role_visit *visit, void *arg);
