/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile call frame information: any bytes give a valid table or an error. The input's first byte
 * selects the kind of the rest: 0 .eh_frame, 1 .debug_frame, 2 an image in memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/rows.h"

static void check(const struct rows *rows)
{
	if (!rows_are_valid(rows->at, rows->nr))
		abort();
	for (u32 i = 0; i < rows->nr; i++) {
		const struct unwind_row *row = &rows->at[i];
		const struct unwind_row *last = i ? row - 1 : NULL;
		if (last && last->kind == row->kind && last->cfa_off == row->cfa_off &&
		    last->fp_off == row->fp_off)
			abort();
	}
}

struct memory {
	const u8 *at;
	size_t len;
};

static int read_memory(void *ctx, u64 addr, void *buf, size_t len)
{
	const struct memory *m = ctx;

	if (addr > m->len || len > m->len - addr)
		return -EFAULT;
	memcpy(buf, m->at + addr, len);
	return 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	auto_rows struct rows rows = { 0 };
	int err;

	if (!size)
		return 0;
	if (data[0] == 2) {
		struct memory m = { data + 1, size - 1 };
		err = rows_build_image((struct image_memory){ read_memory, &m }, 0, &rows);
	} else {
		const struct cfi_input input = {
			.sections = { { .data = data + 1,
					.size = size - 1,
					.vaddr = 0x80000,
					.is_debug_frame = data[0] & 1 } },
			.nr = 1,
			.size = 0x100000,
		};
		err = rows_compile(&input, &rows);
	}
	if (!err)
		check(&rows);
	return 0;
}
