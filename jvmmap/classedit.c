/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a class file and writes a changed one. */
#include "jvmmap/classedit.h"

#include "jvmmap/sys.h"

static const uint8_t *take(struct input *in, size_t len)
{
	static const uint8_t nothing[8];
	const uint8_t *at = in->at;

	if ((size_t)(in->end - at) < len) {
		in->is_bad = 1;
		in->at = in->end;
		return len <= sizeof(nothing) ? nothing : NULL;
	}
	in->at += len;
	return at;
}

uint32_t take_u8(struct input *in)
{
	return *take(in, 1);
}

uint32_t take_u16(struct input *in)
{
	const uint8_t *b = take(in, 2);

	return (uint32_t)b[0] << 8 | b[1];
}

uint32_t take_u32(struct input *in)
{
	uint32_t high = take_u16(in);

	return high << 16 | take_u16(in);
}

struct input take_part(struct input *in, size_t len)
{
	const uint8_t *at = take(in, len);

	return in->is_bad ? (struct input){ in->end, in->end, 1 }
			  : (struct input){ at, at + len, 0 };
}

void put(struct output *out, const void *bytes, size_t len)
{
	if (out->at && out->len + len <= out->room)
		memcpy(out->at + out->len, bytes, len);
	out->len += len;
}

void put_u8(struct output *out, uint32_t value)
{
	const uint8_t byte = (uint8_t)value;

	put(out, &byte, 1);
}

void put_u16(struct output *out, uint32_t value)
{
	put_u8(out, value >> 8);
	put_u8(out, value);
}

void put_u32(struct output *out, uint32_t value)
{
	put_u16(out, value >> 16);
	put_u16(out, value);
}

void fill_u16(struct output *out, size_t place, uint32_t value)
{
	struct output there = { out->at, place, out->room };

	put_u16(&there, value);
}

void fill_u32(struct output *out, size_t place, uint32_t value)
{
	struct output there = { out->at, place, out->room };

	put_u32(&there, value);
}

void copy(struct editor *e, size_t len)
{
	const uint8_t *at = take(&e->in, len);

	if (!e->in.is_bad)
		put(&e->out, at, len);
}

uint32_t copy_u16(struct editor *e)
{
	uint32_t value = take_u16(&e->in);

	put_u16(&e->out, value);
	return value;
}

struct input text_of(const struct editor *e, uint32_t constant)
{
	const uint8_t *at = e->file + (constant < e->nr_constants ? e->places[constant] : 0);

	if (at == e->file || at[0] != CONSTANT_UTF8)
		return (struct input){ e->file, e->file, 1 };
	return (struct input){ at + 3, at + 3 + (at[1] << 8 | at[2]), 0 };
}

int is_text(const struct editor *e, uint32_t constant, const char *text, size_t len)
{
	struct input found = text_of(e, constant);

	if (found.is_bad || (size_t)(found.end - found.at) != len)
		return 0;
	for (size_t i = 0; i < len; i++)
		if (found.at[i] != (uint8_t)text[i])
			return 0;
	return 1;
}

uint32_t take_parameter(struct input *type, struct input *name)
{
	const uint8_t *begin = type->at;
	uint32_t first = take_u8(type), last = first;

	if (first == ')' || type->is_bad)
		return 0;
	while (last == '[')
		last = take_u8(type);
	for (uint32_t c = last; c != ';' && last == 'L' && !type->is_bad;)
		c = take_u8(type);
	*name = first == 'L' ? (struct input){ begin + 1, type->at - 1, 0 }
			     : (struct input){ begin, type->at, 0 };
	return type->is_bad ? 0 : first;
}
