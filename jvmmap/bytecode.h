/* SPDX-License-Identifier: Apache-2.0 */
/* The bytecode of a method (JVMS 6). */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum opcode {
	OP_NOP = 0,
	OP_LDC_W = 19,
	OP_LDC2_W = 20,
	OP_LLOAD = 22,
	OP_LSTORE = 55,
	OP_IINC = 132,
	OP_IFEQ = 153,
	OP_JSR = 168,
	OP_TABLESWITCH = 170,
	OP_LOOKUPSWITCH = 171,
	OP_IRETURN = 172,
	OP_RETURN = 177,
	OP_INVOKESTATIC = 184,
	OP_ATHROW = 191,
	OP_WIDE = 196,
	OP_IFNULL = 198,
	OP_IFNONNULL = 199,
	OP_GOTO_W = 200,
	OP_JSR_W = 201,
};

enum bytecode_kind {
	BYTECODE_OTHER,
	BYTECODE_JUMP,     /* 1 byte, then the distance in 2 */
	BYTECODE_JUMP_FAR, /* 1 byte, then the distance in 4 */
	BYTECODE_TABLE,    /* tableswitch: one distance for each number of a range */
	BYTECODE_LOOKUP,   /* lookupswitch: pairs of a number and a distance */
	BYTECODE_RETURN,
};

enum bytecode_kind bytecode_kind(uint8_t op);

/* The length of the instruction at `pc`; 0 if it is unknown or does not fit into the code. */
size_t bytecode_length(const uint8_t *code, size_t pc, size_t len);

/* Where the numbers of a switch begin: at a multiple of 4. The bytes before them are zeros. */
static inline size_t bytecode_switch_numbers(size_t pc)
{
	return (pc + 4) & ~(size_t)3;
}

/* Whether the code can jump back. Also 1 if the code is invalid or has unknown instructions. */
int bytecode_has_loop(const uint8_t *code, size_t len);
