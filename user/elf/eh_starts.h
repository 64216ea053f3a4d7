/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions begin, also those of stripped modules: the search table of .eh_frame. */
#pragma once

#include "elf/elf.h"

/* Is told of a function's first address; false ends the visit. */
typedef bool eh_start_visit(void *arg, u64 vaddr);

#define EH_STARTS_MAX (4u << 20)

/*
 * Visits the entries of .eh_frame_hdr in its order (LSB 10.6.2), in the one form that linkers
 * make: 4-byte offsets from the table itself. Other forms and damaged ones give fewer or none, and
 * so does a table of more than EH_STARTS_MAX, which may be a hole in its file.
 */
void eh_starts_each(const struct elf *e, eh_start_visit *visit, void *arg);
