/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the debug information of compiled code. */
#include "jvm/scopes.h"

#include <errno.h>

#define UNSIGNED5_BYTES    5
#define UNSIGNED5_CONTINUE 192 /* a byte below ends the number; each stands for 6 bits */
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
		/* The bci is stored as its distance from InvocationEntryBci, -1. */
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

u32 line_table_find(const u8 *table, size_t len, bool excludes_zero, s32 bci)
{
	u32 at_bci = 0, line = 0, found = 0, best_bci = 0;

	for (size_t at = 0; at < len && table[at];) {
		u8 byte = table[at++];

		if (byte == LINE_EXTENDED) {
			s32 bci_delta, line_delta;
			if (!signed5_read(table, len, &at, excludes_zero, &bci_delta) ||
			    !signed5_read(table, len, &at, excludes_zero, &line_delta))
				break;
			at_bci += (u32)bci_delta;
			line += (u32)line_delta;
		} else {
			at_bci += byte >> 3;
			line += byte & 7;
		}
		if (bci >= 0 && at_bci == (u32)bci) /* as Method::line_number_from_bci */
			return line;
		if (bci >= 0 && at_bci < (u32)bci && at_bci >= best_bci) {
			best_bci = at_bci;
			found = line;
		}
	}
	return found;
}
