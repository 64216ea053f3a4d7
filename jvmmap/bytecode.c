/* SPDX-License-Identifier: Apache-2.0 */
/* The bytecode of a method: its jumps. */
#include "jvmmap/bytecode.h"

enum opcode {
	OP_IINC = 132,
	OP_IFEQ = 153,
	OP_JSR = 168,
	OP_TABLESWITCH = 170,
	OP_LOOKUPSWITCH = 171,
	OP_WIDE = 196,
	OP_IFNULL = 198,
	OP_IFNONNULL = 199,
	OP_GOTO_W = 200,
	OP_JSR_W = 201,
};

/* Instructions up to `last` have `len` bytes; 0: the length varies. */
struct instructions {
	uint8_t last, len;
};

static const struct instructions lengths[] = {
	{ 15, 1 },  { 16, 2 },  { 17, 3 },  { 18, 2 },  { 20, 3 },  { 25, 2 },  { 53, 1 },
	{ 58, 2 },  { 131, 1 }, { 132, 3 }, { 152, 1 }, { 168, 3 }, { 169, 2 }, { 171, 0 },
	{ 177, 1 }, { 184, 3 }, { 186, 5 }, { 187, 3 }, { 188, 2 }, { 189, 3 }, { 191, 1 },
	{ 193, 3 }, { 195, 1 }, { 196, 0 }, { 197, 4 }, { 199, 3 }, { 201, 5 },
};

static uint32_t u32_at(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static size_t length_of(uint8_t op)
{
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		if (op <= lengths[i].last)
			return lengths[i].len;
	return 0;
}

/* Whether one of `nr` targets, `step` bytes apart, lies before the instruction. */
static int has_target_before(const uint8_t *at, uint64_t nr, size_t step)
{
	for (uint64_t i = 0; i < nr; i++)
		if ((int32_t)u32_at(at + i * step) < 0)
			return 1;
	return 0;
}

/*
 * The length of the switch at `pc`; 0 if it jumps back or is invalid. Its numbers begin at a
 * multiple of 4: the default target, then low and high, or the number of pairs.
 */
static size_t switch_length(const uint8_t *code, size_t pc, size_t len)
{
	int is_table = code[pc] == OP_TABLESWITCH;
	size_t at = (pc + 4) & ~(size_t)3, head = is_table ? 12 : 8, step = is_table ? 4 : 8;

	if (at > len || len - at < head)
		return 0;
	int64_t low = is_table ? (int32_t)u32_at(code + at + 4) : 1;
	int64_t high = (int32_t)u32_at(code + at + head - 4);
	uint64_t nr = high < low ? 0 : (uint64_t)(high - low) + 1;
	if (nr > (len - at - head) / step || has_target_before(code + at, 1, 4) ||
	    has_target_before(code + at + head + step - 4, nr, step))
		return 0;
	return at + head + (size_t)nr * step - pc;
}

static int jumps_back(const uint8_t *at)
{
	if (*at == OP_GOTO_W || *at == OP_JSR_W)
		return (at[1] & 0x80) != 0;
	return ((*at >= OP_IFEQ && *at <= OP_JSR) || *at == OP_IFNULL || *at == OP_IFNONNULL) &&
	       (at[1] & 0x80);
}

int bytecode_has_loop(const uint8_t *code, size_t len)
{
	for (size_t pc = 0, step; pc < len; pc += step) {
		step = length_of(code[pc]);
		if (code[pc] == OP_TABLESWITCH || code[pc] == OP_LOOKUPSWITCH)
			step = switch_length(code, pc, len);
		else if (code[pc] == OP_WIDE && len - pc > 1)
			step = code[pc + 1] == OP_IINC ? 6 : 4;
		if (!step || step > len - pc || jumps_back(code + pc))
			return 1;
	}
	return 0;
}
