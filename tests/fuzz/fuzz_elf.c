/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile ELF files: any bytes give a bounded table of functions or an error. */
#include <stdlib.h>
#include <string.h>

#include "elf/debugfile.h"
#include "elf/elf.h"
#include "elf/symbols.h"
#include "elf/usdt.h"

#define MAX_BYTES (1u << 20)

static void read_sections(const struct elf *e)
{
	size_t nr, len;
	const struct elf_section *sections = elf_sections(e, &nr);

	for (size_t i = 0; i < nr && i < 64; i++) {
		void *bytes;
		if (elf_section_read(e, &sections[i], MAX_BYTES, &bytes, &len))
			continue;
		if (len > MAX_BYTES)
			abort();
		free(bytes);
	}
}

static void read_symbols(const struct elf *e, const struct elf *const *more, size_t nr_more)
{
	auto_symbols struct symbols *s = symbols_read(e, more, nr_more, MAX_BYTES);
	size_t nr;
	u64 start;
	const struct elf_segment *segments = elf_segments(e, &nr);

	if (symbols_bytes(s) > 4 * MAX_BYTES)
		abort();
	for (size_t i = 0; i < nr; i++) {
		for (u64 at = 0; at < 4096; at += 61) {
			const char *name = symbols_find(s, segments[i].vaddr + at, &start);
			if (name && strlen(name) > 4096)
				abort();
		}
	}
}

static void read_probes(const struct elf *e)
{
	struct usdt_place places[USDT_PLACES_MAX];
	struct near near = { .wanted = "a:b", .max = 1 };
	size_t nr = 0;

	if (!usdt_find(e, "a:b", places, &nr, &near) && (!nr || nr > USDT_PLACES_MAX))
		abort();
	near_fini(&near);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	auto_elf struct elf *e = NULL, *inner = NULL;
	auto_free void *embedded = NULL;
	u8 id[ELF_BUILD_ID_MAX];
	size_t len;
	u64 bias;

	if (elf_open_memory(data, size, &e))
		return 0;
	if (!elf_build_id(e, id, &len) && len > sizeof(id))
		abort();
	elf_bias(e, 0x7f0000001000, 0x1000, &bias);
	read_sections(e);
	read_symbols(e, NULL, 0);
	read_probes(e);
	if (!debugfile_embedded(e, &embedded, &len) && !elf_open_memory(embedded, len, &inner))
		read_symbols(e, (const struct elf *const *)&inner, 1);
	return 0;
}
