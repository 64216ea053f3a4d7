/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the debug information of compiled code. */
#include "jvm/memory/scopes.h"

#include <errno.h>

#define UNSIGNED5_BYTES    5
#define UNSIGNED5_CONTINUE 192 /* a smaller byte ends the number; each has 6 bits */
#define LINE_EXTENDED      0xff

bool unsigned5_read(const u8 *data, size_t len, size_t *at, bool excludes_zero, u32 *out)
{
	u32 value = 0;

	for (int i = 0; i < UNSIGNED5_BYTES; i++) {
		if (*at >= len || (excludes_zero && !data[*at]))
			return false;

		u8 byte = data[(*at)++];
		value += (u32)(byte - excludes_zero) << (6 * i);
		if (byte < UNSIGNED5_CONTINUE)
			break;
	}
	*out = value;
	return true;
}

const struct pc_desc *scopes_find(const struct pc_desc *descs, size_t nr, s32 pc_offset)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (descs[middle].pc_offset < pc_offset)
			low = middle + 1;
		else
			high = middle;
	}
	while (low < nr && descs[low].scope_offset <= 0)
		low++;
	return low < nr ? &descs[low] : NULL;
}

int scopes_decode(const u8 *data, size_t len, u32 offset, bool excludes_zero, struct scope out[],
		  int max)
{
	int nr = 0;

	while (offset && nr < max) {
		size_t at = offset;
		u32 sender, method, bci;

		if (!unsigned5_read(data, len, &at, excludes_zero, &sender) ||
		    !unsigned5_read(data, len, &at, excludes_zero, &method) ||
		    !unsigned5_read(data, len, &at, excludes_zero, &bci) || sender >= offset)
			return -EBADMSG;
		/* The bci is stored relative to InvocationEntryBci, -1. */
		out[nr++] = (struct scope){ method, (s32)(bci - 1) };
		offset = sender;
	}
	return nr;
}

static bool signed5_read(const u8 *table, size_t len, size_t *at, bool excludes_zero, s32 *out)
{
	u32 value;

	if (!unsigned5_read(table, len, at, excludes_zero, &value))
		return false;
	*out = (s32)(value >> 1) ^ -(s32)(value & 1);
	return true;
}

/* A place in a compressed line table. */
struct line_entry {
	u32 bci, line;
};

/* Advances to the next entry; false at the end or if the table is damaged. */
static bool next_line(const u8 *table, size_t len, size_t *at, bool excludes_zero,
		      struct line_entry *e)
{
	s32 bci_delta, line_delta;

	if (*at >= len || !table[*at])
		return false;

	u8 byte = table[(*at)++];
	if (byte != LINE_EXTENDED) {
		e->bci += byte >> 3;
		e->line += byte & 7;
		return true;
	}
	if (!signed5_read(table, len, at, excludes_zero, &bci_delta) ||
	    !signed5_read(table, len, at, excludes_zero, &line_delta))
		return false;
	e->bci += (u32)bci_delta;
	e->line += (u32)line_delta;
	return true;
}

/* As Method::line_number_from_bci: the entry of this bci, or else the nearest lower one. */
u32 line_table_find(const u8 *table, size_t len, bool excludes_zero, s32 bci)
{
	struct line_entry e = { 0 };
	u32 found = 0, best = 0, wanted = bci < 0 ? 0 : (u32)bci;

	for (size_t at = 0; next_line(table, len, &at, excludes_zero, &e);) {
		if (e.bci == wanted)
			return e.line;
		if (e.bci < wanted && e.bci >= best) {
			best = e.bci;
			found = e.line;
		}
	}
	return found;
}

size_t line_table_length(const u8 *table, size_t len, bool excludes_zero)
{
	struct line_entry e = { 0 };
	size_t at = 0;

	while (next_line(table, len, &at, excludes_zero, &e))
		;
	return at;
}
