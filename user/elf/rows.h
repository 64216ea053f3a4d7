/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind rows of one module (struct unwind_row, abi.h), compiled from its .eh_frame and
 * .debug_frame. x86-64 only.
 *
 * A row's pc counts from `base`, the lowest p_vaddr of its PT_LOADs rounded down to 4 KB: that is
 * what is mapped first, so that pc is also an address in a process less the address where the
 * module's image begins there.
 *
 * Errors: -ENOEXEC is no ELF file for this machine, -EBADMSG a damaged one, -EFBIG one that is
 * over a bound below or spans 4 GB, -ENODATA one without call frame information.
 */
#pragma once

#include "abi.h"
#include "base/auto.h"
#include "base/types.h"
#include "elf/cfi_input.h"

#define ROWS_MAX     (8u << 20) /* of one module */
#define ROWS_MIN_GAP 16         /* bytes; a shorter gap between functions has no row of its own */

/* Sorted by pc, no two of the same pc, no neighbours that differ in pc only. */
struct rows {
	struct unwind_row *at; /* owned */
	u32 nr;
	u64 base;
	u32 nr_fdes;        /* functions */
	u32 nr_unsupported; /* rows that are ROW_UNSUPPORTED */
	u32 nr_malformed;   /* entries that are damaged or in a form we do not know */
	u32 nr_unknown_ops; /* functions cut short by an instruction we do not know */
};

/* From a file. The caller owns *out. */
int rows_build(const struct elf *e, struct rows *out);

/* From an image whose first byte is mapped at `load_addr`; needs no section headers. */
int rows_build_image(struct image_memory memory, u64 load_addr, struct rows *out);

/* From our own vdso, which is the one of every process; -ENOENT if there is none. */
int rows_build_vdso(struct rows *out);

/*
 * From what the above find. A function of .eh_frame hides those of .debug_frame that it overlaps;
 * what lies outside the image is left out.
 */
int rows_compile(const struct cfi_input *input, struct rows *out);

/* The row for an address in the terms of p_vaddr; NULL if it is outside the table. */
const struct unwind_row *rows_find(const struct rows *rows, u64 vaddr);
void rows_fini(struct rows *rows);

#define auto_rows __attribute__((cleanup(rows_fini)))
