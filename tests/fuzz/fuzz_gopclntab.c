/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile tables of Go programs: any bytes give bounded names and valid rows, or an error. */
#include <stdlib.h>

#include "elf/rows.h"
#include "elf/symbols.h"
#include "go_program.h"

#define NAMES_MAX (1u << 20)

static struct go_program file;

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	auto_rows struct rows rows = { 0 };
	auto_elf struct elf *e = NULL;
	u64 start;

	if (size > GO_MOST)
		return 0;
	go_program_make(&file, ".gopclntab", data, size);
	if (elf_open_memory(&file, sizeof(file), &e))
		abort();
	if (!rows_build(e, &rows) && !rows_are_valid(rows.at, rows.nr))
		abort();
	auto_symbols struct symbols *s = symbols_read(e, NULL, 0, NAMES_MAX);
	if (symbols_bytes(s) > 4 * NAMES_MAX)
		abort();
	for (u32 at = GO_TEXT; at < GO_TABLE; at += 16) {
		const char *name = symbols_find(s, at, &start);
		if (name && strlen(name) > 4096)
			abort();
	}
	return 0;
}
