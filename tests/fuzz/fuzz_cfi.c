/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile call frame information: any bytes give a valid table or an error.
 * The input's first byte chooses .debug_frame, the rest is the section.
 */
#include <stdlib.h>

#include "elf/cfi.h"
#include "elf/rows.h"

#define BASE 0u
#define SIZE 0x100000u

static void check(const struct rows *rows)
{
	for (u32 i = 0; i < rows->nr; i++) {
		const struct unwind_row *row = &rows->at[i], *last = row - 1;
		if (row->pc > SIZE || row->kind > ROW_SP_DEREF)
			abort();
		if (i && last->pc >= row->pc)
			abort();
		if (i && last->kind == row->kind && last->cfa_off == row->cfa_off &&
		    last->fp_off == row->fp_off)
			abort();
		if (rows_find(rows, BASE + row->pc) != row)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	auto_rows struct rows rows = { 0 };

	if (!size)
		return 0;
	const struct cfi_section section = {
		.data = data + 1,
		.size = size - 1,
		.vaddr = BASE + 0x80000,
		.is_debug_frame = data[0] & 1,
	};
	if (rows_compile(&section, 1, BASE, SIZE, &rows) == 0)
		check(&rows);
	return 0;
}
