/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a record of slices. */
#include "export/slices/slice_record.h"

#include <errno.h>
#include <string.h>

#include <zlib.h>

#include "export/format/fixed.h"

#define VERSION 1
#define OFF_LEN 8
#define OFF_CRC 12

static const char magic[4] = { 'S', 'F', 'L', 'S' };

/* The checksum of all bytes of a record except the checksum itself. */
static u32 checksum(const u8 *record, size_t len)
{
	uLong crc = crc32_z(0, record, OFF_CRC);

	return (u32)crc32_z(crc, record + OFF_CRC + 4, len - OFF_CRC - 4);
}

int slice_head_read(const u8 *at, size_t len, struct slice_head *out)
{
	struct slice_head head;
	size_t shown = len < sizeof(magic) ? len : sizeof(magic);

	if (memcmp(at, magic, shown) != 0)
		return -EINVAL;
	if (len < SLICE_HEAD_BYTES)
		return -EAGAIN;
	head.len = (u32)fixed_get(at + OFF_LEN, 4);
	if (fixed_get(at + 4, 4) != VERSION || head.len < SLICE_HEAD_BYTES ||
	    head.len > SLICE_RECORD_MAX)
		return -EINVAL;
	if (head.len > len)
		return -EAGAIN;
	head.begin_wall_ns = fixed_get(at + 16, 8);
	head.end_wall_ns = fixed_get(at + 24, 8);
	head.book = (u32)fixed_get(at + 32, 4);
	head.number = (u32)fixed_get(at + 36, 4);
	head.begins = head.number == 0;
	if (head.end_wall_ns < head.begin_wall_ns ||
	    fixed_get(at + OFF_CRC, 4) != checksum(at, head.len))
		return -EINVAL;
	*out = head;
	return 0;
}

void slice_head_write(const struct slice_head *head, u8 *record)
{
	memcpy(record, magic, sizeof(magic));
	fixed_put(record + 4, VERSION, 4);
	fixed_put(record + OFF_LEN, head->len, 4);
	fixed_put(record + 16, head->begin_wall_ns, 8);
	fixed_put(record + 24, head->end_wall_ns, 8);
	fixed_put(record + 32, head->book, 4);
	fixed_put(record + 36, head->number, 4);
	fixed_put(record + OFF_CRC, checksum(record, head->len), 4);
}

size_t slice_find(const u8 *at, size_t len, u64 *budget)
{
	struct slice_head head;

	for (size_t i = 0; i < len; i++) {
		const u8 *next = memmem(at + i, len - i, magic, sizeof(magic));
		if (!next)
			return len;
		i = (size_t)(next - at);
		/* Computing a checksum reads as many bytes as the head claims. */
		u64 cost = len - i < SLICE_HEAD_BYTES ? len - i : fixed_get(next + OFF_LEN, 4);
		cost = cost < len - i ? cost : 0;
		if (cost >= *budget) {
			*budget = 0;
			return len;
		}
		*budget -= cost;
		if (!slice_head_read(next, len - i, &head))
			return i;
	}
	return len;
}
