/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes are read as slices that can be encoded, or refused with a sentence. With a first byte
 * of 1 the rest is the body of a record, whose checksum is made right.
 */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "export/format/encode.h"
#include "export/slices/slice_reader.h"
#include "export/slices/slice_record.h"

/* A row of records: each has a length of two bytes and its body. */
static struct str records_of(const u8 *data, size_t size)
{
	static const u8 empty[SLICE_HEAD_BYTES];
	struct str file = { 0 };

	for (u32 number = 0; size >= 2; number++) {
		size_t start = file.len, len = data[0] | (size_t)data[1] << 8;
		len = len < size - 2 ? len : size - 2;
		str_add_bytes(&file, empty, sizeof(empty));
		str_add_bytes(&file, data + 2, len);
		struct slice_head head = { .begin_wall_ns = number,
					   .end_wall_ns = number + 1,
					   .len = (u32)(file.len - start),
					   .number = number };
		slice_head_write(&head, (u8 *)file.at + start);
		data += 2 + len;
		size -= 2 + len;
	}
	return file;
}

static void check(const u8 *data, size_t size, u64 slot_ns)
{
	struct slice_query q = { .to_wall_ns = UINT64_MAX };
	struct profile *p = profile_new();
	auto_str struct str why = { 0 }, body = { 0 };
	u32 nr_nodes;

	p->slot_ns = slot_ns;
	int err = slices_read(data, size, &q, p, &why);
	slices_drop_large_types(p);
	if (err ? !why.len : body_encode(p, NULL, &body, &nr_nodes))
		abort();
	profile_free(p);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (size && data[0] <= 1) {
		auto_str struct str file = records_of(data + 1, size - 1);
		check((const u8 *)file.at, file.len, data[0] * 10);
	} else {
		check(data, size, 0);
	}
	return 0;
}
