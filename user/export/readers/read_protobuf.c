/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distinguishes pprof and OTLP by their fields, because protocol buffers do not name their format.
 * Part of export/readers/reader.h.
 */
#include <errno.h>

#include "export/interchange/pb.h"
#include "export/readers/reader.h"

#define PPROF_TEXTS     6 /* present in every pprof file */
#define OTLP_DICTIONARY 2 /* the last field of OTLP */

/*
 * Whether the input starts with a tag that both formats may start with, and contains a byte that
 * text does not have.
 */
bool protobuf_is(const u8 *head, size_t len)
{
	if (len < 2 || head[0] >> 3 == 0 || head[0] >> 3 > 15 ||
	    ((head[0] & 7) != 2 && (head[0] & 7) != 0))
		return false;
	for (size_t i = 0; i < len; i++)
		if (head[i] < '\t' || (head[i] > '\r' && head[i] < ' ' && head[i] != 0x1b))
			return true;
	return false;
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
