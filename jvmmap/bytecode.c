/* SPDX-License-Identifier: Apache-2.0 */
/* The bytecode of a method: its instructions and jumps. */
#include "jvmmap/bytecode.h"

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

enum bytecode_kind bytecode_kind(uint8_t op)
{
	if ((op >= OP_IFEQ && op <= OP_JSR) || op == OP_IFNULL || op == OP_IFNONNULL)
		return BYTECODE_JUMP;
	if (op == OP_GOTO_W || op == OP_JSR_W)
		return BYTECODE_JUMP_FAR;
	if (op >= OP_IRETURN && op <= OP_RETURN)
		return BYTECODE_RETURN;
	return op == OP_TABLESWITCH    ? BYTECODE_TABLE
	       : op == OP_LOOKUPSWITCH ? BYTECODE_LOOKUP
				       : BYTECODE_OTHER;
}

/*
 * Length of a switch instruction; 0 if it does not fit in `len`. Its operands are aligned 32-bit
 * numbers. tableswitch: default target, low, high, and a target for each value from low to high.
 * lookupswitch: default target, number of pairs, and the pairs (value, target).
 */
static size_t switch_length(const uint8_t *code, size_t pc, size_t len)
{
	int is_table = code[pc] == OP_TABLESWITCH;
	size_t at = bytecode_switch_numbers(pc), head = is_table ? 12 : 8, step = is_table ? 4 : 8;

	if (at > len || len - at < head)
		return 0;
	int64_t low = is_table ? (int32_t)u32_at(code + at + 4) : 1;
	int64_t high = (int32_t)u32_at(code + at + head - 4);
	uint64_t nr = high < low ? 0 : (uint64_t)(high - low) + 1;
	return nr > (len - at - head) / step ? 0 : at + head + (size_t)nr * step - pc;
}

size_t bytecode_length(const uint8_t *code, size_t pc, size_t len)
{
	size_t length = length_of(code[pc]);

	if (code[pc] == OP_TABLESWITCH || code[pc] == OP_LOOKUPSWITCH)
		return switch_length(code, pc, len);
	if (code[pc] == OP_WIDE && len - pc > 1)
		length = code[pc + 1] == OP_IINC ? 6 : 4;
	return length > len - pc ? 0 : length;
}

static int is_back(const uint8_t *distance)
{
	return (*distance & 0x80) != 0;
}

static int switch_jumps_back(const uint8_t *code, size_t pc, size_t length)
{
	int is_table = code[pc] == OP_TABLESWITCH;
	size_t at = bytecode_switch_numbers(pc), head = is_table ? 12 : 8, step = is_table ? 4 : 8;
	int is_found = is_back(code + at);

	for (size_t i = at + head + step - 4; i < pc + length; i += step)
		is_found |= is_back(code + i);
	return is_found;
}

static int jumps_back(const uint8_t *code, size_t pc, size_t length)
{
	switch (bytecode_kind(code[pc])) {
	case BYTECODE_JUMP:
	case BYTECODE_JUMP_FAR:
		return is_back(code + pc + 1);
	case BYTECODE_TABLE:
	case BYTECODE_LOOKUP:
		return switch_jumps_back(code, pc, length);
	default:
		return 0;
	}
}

int bytecode_has_loop(const uint8_t *code, size_t len)
{
	for (size_t pc = 0, step; pc < len; pc += step) {
		step = bytecode_length(code, pc, len);
		if (!step || jumps_back(code, pc, step))
			return 1;
	}
	return 0;
}
