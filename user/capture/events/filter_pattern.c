/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of strings in filters, as automata for bpf/filter.bpf.c. */
#include "capture/events/filter_pattern.h"

#include <errno.h>
#include <string.h>

static void accept(struct filter_pattern *p, u8 c)
{
	p->accept[c] |= 1ull << p->nr;
}

static void accept_all(struct filter_pattern *p)
{
	for (u32 c = 1; c < 256; c++)
		accept(p, (u8)c);
}

int filter_pattern_equal(const char *text, size_t len, struct filter_pattern *out)
{
	*out = (struct filter_pattern){ 0 };
	if (len > FILTER_ELEMENTS)
		return -E2BIG;
	for (; out->nr < len; out->nr++)
		accept(out, (u8)text[out->nr]);
	return 0;
}

/* Reads "[a-c]" or "[!a-c]" from its bracket on. Returns its length, 0 if it is not closed. */
static size_t accept_class(struct filter_pattern *p, const char *text, size_t len)
{
	bool is_not = len > 1 && text[1] == '!', is_in[256] = { false };
	size_t i = 1 + is_not, first = i;

	for (; i < len && (text[i] != ']' || i == first); i++) {
		u8 from = (u8)text[i], to = from;
		if (i + 2 < len && text[i + 1] == '-' && text[i + 2] != ']') {
			to = (u8)text[i + 2];
			i += 2;
		}
		for (u32 c = from; c <= to; c++)
			is_in[c] = true;
	}
	if (i >= len)
		return 0;
	for (u32 c = 1; c < 256; c++)
		if (is_in[c] != is_not)
			accept(p, (u8)c);
	return i + 1;
}

int filter_pattern_glob(const char *text, size_t len, struct filter_pattern *out)
{
	*out = (struct filter_pattern){ 0 };
	for (size_t i = 0; i < len;) {
		size_t used = 1;
		if (text[i] == '*') {
			out->stars |= 1ull << out->nr;
			i++;
			continue;
		}
		if (out->nr == FILTER_ELEMENTS)
			return -E2BIG;
		if (text[i] == '?') {
			accept_all(out);
		} else if (text[i] == '[') {
			used = accept_class(out, text + i, len - i);
			if (!used)
				return -EINVAL;
		} else {
			used = text[i] == '\\' && i + 1 < len ? 2 : 1;
			accept(out, (u8)text[i + used - 1]);
		}
		out->nr++;
		i += used;
	}
	return 0;
}
