/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distinguishes pprof and OTLP by their fields, because protocol buffers do not name their format.
 * Part of export/readers/reader.h.
 */
#include <errno.h>
#include <string.h>

#include "export/interchange/pb.h"
#include "export/readers/reader.h"

#define PPROF_TEXTS     6 /* present in every pprof file */
#define OTLP_DICTIONARY 2 /* the last field of OTLP */

#define BIT(number) (1u << (number))

/* Whether a byte is the tag of a field of pprof, whose fields include those of OTLP. */
static bool is_tag(u8 byte)
{
	static const u32 numbers =
		BIT(7) | BIT(8) | BIT(9) | BIT(10) | BIT(12) | BIT(13) | BIT(14) | BIT(15);
	static const u32 messages =
		BIT(1) | BIT(2) | BIT(3) | BIT(4) | BIT(5) | BIT(6) | BIT(11) | BIT(13);
	u32 field = byte < 0x80 ? BIT(byte >> 3) : 0;

	return ((byte & 7) == 0 && field & numbers) || ((byte & 7) == 2 && field & messages);
}

static bool has_control_byte(const u8 *head, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (head[i] < '\t' || (head[i] > '\r' && head[i] < ' ' && head[i] != 0x1b))
			return true;
	return false;
}

/*
 * Whether the first line that is not empty is "root;...;leaf COUNT". Protocol buffers may look so,
 * too: lengths are bytes below ' ', and the first of pprof's texts has the length 0.
 */
static bool begins_with_stack(const u8 *head, size_t len)
{
	size_t start = 0;

	while (start < len && (head[start] == '\n' || head[start] == '\r'))
		start++;
	const u8 *line = head + start, *end = memchr(line, '\n', len - start);
	if (!end && len == INPUT_HEAD)
		return false; /* the line goes on */
	end = end ?: head + len;
	if (end == line || *line < ' ' || memchr(line, 0, (size_t)(end - line)))
		return false;
	while (end > line && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	const u8 *count = end;
	while (count > line && strchr("0123456789.", count[-1]))
		count--;
	return count < end && count > line + 1 && (count[-1] == ' ' || count[-1] == '\t');
}

/* Whether the input consists of fields of pprof or OTLP, as far as it is known. */
static bool has_fields(const u8 *head, size_t len)
{
	for (size_t at = 0; at < len;) {
		u8 tag = head[at++];
		u64 value = 0;
		unsigned int shift = 0;
		bool is_last = false;
		if (!is_tag(tag))
			return false;
		for (; at < len && !is_last && shift < 64; shift += 7) {
			value |= (u64)(head[at] & 0x7f) << shift;
			is_last = head[at++] < 0x80;
		}
		if ((tag & 7) != 2)
			continue;
		if (value > len - at)
			return true;
		at += value;
	}
	return true;
}

/*
 * Whether the input starts with a tag that both formats may start with, and contains a byte that
 * text does not have. A tag may be a letter, and a name in text may have such a byte: the first
 * line decides, or, if it is too long for that, the fields.
 */
bool protobuf_is(const u8 *head, size_t len)
{
	if (len < 2 || head[0] >> 3 == 0 || head[0] >> 3 > 15 ||
	    ((head[0] & 7) != 2 && (head[0] & 7) != 0))
		return false;
	if (!has_control_byte(head, len) || begins_with_stack(head, len))
		return false;
	return head[0] < ' ' || has_fields(head, len);
}

int protobuf_read(struct input *in, struct profile *p, struct str *why)
{
	auto_str struct str bytes = { 0 };
	bool is_otlp = true, is_pprof = false;
	struct pb_field f;
	int err = input_read_all(in, &bytes, why);
	if (err)
		return err;

	struct pb_reader file = pb_read(bytes.at, bytes.len);
	while ((err = pb_next(&file, &f)) > 0) {
		is_otlp &= f.number <= OTLP_DICTIONARY;
		is_pprof |= f.number == PPROF_TEXTS;
	}
	if (is_pprof)
		return pprof_read(&bytes, p, why);
	if (is_otlp && !err)
		return otlp_read(&bytes, p, why);
	str_add(why, err ? "damaged or cut off" : "not pprof, OTLP or text");
	return -EINVAL;
}
