/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of the time axis. */
#include "profile/slots.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SLOTS_MAX (1ull << 32) /* a year of 10 ms slots; bounds damaged files */

void slots_text(const struct slots *s, char text[SLOTS_TEXT_BYTES])
{
	if (s->end - s->first == 1)
		snprintf(text, SLOTS_TEXT_BYTES, "%llu", (unsigned long long)s->first);
	else
		snprintf(text, SLOTS_TEXT_BYTES, "%llu-%llu", (unsigned long long)s->first,
			 (unsigned long long)s->end - 1);
}

/* Reads the number at `text`. Returns where it ends, or NULL if there is none. */
static const char *parse_number(const char *text, u64 *out)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return NULL;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno || *out >= SLOTS_MAX ? NULL : end;
}

bool slots_parse(const char *text, struct slots *out)
{
	u64 first, last;
	const char *end = parse_number(text, &first);

	*out = (struct slots){ 0 };
	last = first;
	if (end && *end == '-')
		end = parse_number(end + 1, &last);
	if (!end || *end || last < first)
		return false;
	*out = (struct slots){ first, last + 1 };
	return true;
}

size_t slots_divide(u64 begin_ns, u64 end_ns, u64 slot_ns, u64 value,
		    struct slots_part out[SLOTS_PARTS])
{
	u64 first = begin_ns / slot_ns, whole_ns = end_ns - begin_ns, given = 0;
	u64 up_ns = (begin_ns + slot_ns - 1) / slot_ns * slot_ns;
	u64 down_ns = end_ns / slot_ns * slot_ns;
	size_t nr = 0;

	if (!whole_ns) {
		out[0] = (struct slots_part){ { first, first + 1 }, value };
		return 1;
	}
	/* The rest of the first slot, the whole slots, the start of the last slot. */
	up_ns = up_ns < end_ns ? up_ns : end_ns;
	down_ns = down_ns > up_ns ? down_ns : up_ns;
	const u64 cuts[SLOTS_PARTS + 1] = { begin_ns, up_ns, down_ns, end_ns };
	for (size_t i = 0; i < SLOTS_PARTS; i++) {
		if (cuts[i] == cuts[i + 1])
			continue;
		/* Steps of the running sum, because rounding each part would lose weight. */
		u64 until = (u64)((unsigned __int128)value * (cuts[i + 1] - begin_ns) / whole_ns);
		out[nr++] =
			(struct slots_part){ { cuts[i] / slot_ns, (cuts[i + 1] - 1) / slot_ns + 1 },
					     until - given };
		given = until;
	}
	return nr;
}
