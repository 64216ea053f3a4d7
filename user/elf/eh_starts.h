/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where functions begin, also in stripped modules, by the search table of .eh_frame. */
#pragma once

#include "elf/elf.h"

/* Receives a function's first address. Returns false to end the visit. */
typedef bool eh_start_visit(void *arg, u64 vaddr);

#define EH_STARTS_MAX (4u << 20)

/*
 * Visits the entries of .eh_frame_hdr in its order (LSB 10.6.2). It reads only the form that
 * linkers write: 4-byte offsets from the table itself. Other or damaged tables, and tables of more
 * than EH_STARTS_MAX entries (perhaps a hole in the file), give fewer entries or none.
 */
void eh_starts_each(const struct elf *e, eh_start_visit *visit, void *arg);
