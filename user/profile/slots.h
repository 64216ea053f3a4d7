/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The label of time: the slots of profile.slot_ns that a weight belongs to. A weight that lasted
 * several slots is spread evenly over them and stays one weight.
 */
#pragma once

#include "base/types.h"

/* [first, end), counted from the begin of the recording. */
struct slots {
	u64 first, end;
};

/* "7" for one slot, "7-120" for 7 to 120. */
#define SLOTS_TEXT_BYTES 48
void slots_text(const struct slots *s, char text[SLOTS_TEXT_BYTES]);

/* Returns false, with *out empty, if the text does not have that form. */
bool slots_parse(const char *text, struct slots *out);

/* A part of a weight. */
struct slots_part {
	struct slots slots;
	u64 value;
};

/*
 * Divides a weight that lasted from `begin_ns` to `end_ns` since the begin of the recording. The
 * first and the last slot get the part that lies in them. The parts add up to `value`. A weight
 * without duration (begin_ns == end_ns) is one part. Returns the number of parts.
 */
#define SLOTS_PARTS 3
size_t slots_divide(u64 begin_ns, u64 end_ns, u64 slot_ns, u64 value,
		    struct slots_part out[SLOTS_PARTS]);
