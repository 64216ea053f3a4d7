/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol buffers as a stream of fields. */
#include "export/interchange/pb.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "export/format/varint.h"

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
	WIRE_FIXED32 = 5,
};

struct pb_reader pb_read(const void *bytes, size_t len)
{
	return (struct pb_reader){ bytes, bytes, len ? (const u8 *)bytes + len : bytes };
}

static bool read_varint(struct pb_reader *r, u64 *out)
{
	u64 value = 0;

	for (unsigned int shift = 0; shift < 64 && r->at < r->end; shift += 7) {
		u8 byte = *r->at++;
		value |= (u64)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*out = value;
			return true;
		}
	}
	return false;
}

static bool read_fixed(struct pb_reader *r, size_t len, u64 *out)
{
	u64 value = 0;

	if ((size_t)(r->end - r->at) < len)
		return false;
	for (size_t i = 0; i < len; i++)
		value |= (u64)r->at[i] << 8 * i;
	r->at += len;
	*out = value;
	return true;
}

static bool read_bytes(struct pb_reader *r, struct pb_field *f)
{
	u64 len;

	if (!read_varint(r, &len) || len > (u64)(r->end - r->at))
		return false;
	f->is_bytes = true;
	f->at = r->at;
	f->len = len;
	r->at += len;
	return true;
}

int pb_next(struct pb_reader *r, struct pb_field *f)
{
	u64 tag;
	bool is_read = false;

	*f = (struct pb_field){ .at = r->at };
	if (r->at == r->end)
		return 0;
	if (!read_varint(r, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX)
		return -EINVAL;
	f->number = (u32)(tag >> 3);
	switch (tag & 7) {
	case WIRE_VARINT:
		is_read = read_varint(r, &f->value);
		break;
	case WIRE_FIXED64:
		is_read = read_fixed(r, 8, &f->value);
		break;
	case WIRE_FIXED32:
		is_read = read_fixed(r, 4, &f->value);
		break;
	case WIRE_BYTES:
		is_read = read_bytes(r, f);
		break;
	}
	return is_read ? 1 : -EINVAL;
}

void *pb_message(const ProtobufCMessageDescriptor *type, const struct pb_field *f)
{
	return f->is_bytes ? protobuf_c_message_unpack(type, NULL, f->len, f->at) : NULL;
}

void pb_add(struct str *out, const void *message)
{
	size_t len = protobuf_c_message_get_packed_size(message);
	u8 small[4096];

	if (len <= sizeof(small)) {
		protobuf_c_message_pack(message, small);
		str_add_bytes(out, small, len);
		return;
	}
	u8 *bytes = xmalloc(len);
	protobuf_c_message_pack(message, bytes);
	str_add_bytes(out, bytes, len);
	free(bytes);
}

void pb_add_bytes(struct str *out, u32 number, const void *bytes, size_t len)
{
	varint_add(out, (u64)number << 3 | WIRE_BYTES);
	varint_add(out, len);
	str_add_bytes(out, bytes, len);
}
