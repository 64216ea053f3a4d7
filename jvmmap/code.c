/* SPDX-License-Identifier: Apache-2.0 */
/* Where the instructions of a method are after calls of hooks were added. */
#include "jvmmap/code.h"

#include "jvmmap/bytecode.h"

#define HUGE_BYTES 8000 /* HotSpot compiles no larger method, see HugeMethodLimit */

uint32_t code_moved(struct code *c, uint32_t pc)
{
	if (pc <= c->len)
		return c->e->at[pc];
	c->e->in.is_bad = 1;
	return 0;
}

/* The length of an instruction at its place in the changed code, without the hook before it. */
static uint32_t length_at(uint32_t place, enum bytecode_kind kind, uint32_t pc, uint32_t length)
{
	uint32_t numbers = (uint32_t)bytecode_switch_numbers(pc) - pc;

	if (kind != BYTECODE_TABLE && kind != BYTECODE_LOOKUP)
		return length;
	return length - numbers + (uint32_t)bytecode_switch_numbers(place) - place;
}

void code_lay_out(struct code *c)
{
	uint16_t *at = c->e->at;
	uint32_t place, step;

	c->begin = (c->wants & CLASS_ENTERED ? CODE_CALL_BYTES : 0) +
		   (code_is_timed(c) ? CODE_CLOCK_BYTES : 0);
	place = c->begin;
	for (uint32_t pc = 0; pc < c->len && !c->e->in.is_bad; pc += step) {
		enum bytecode_kind kind = bytecode_kind(c->bytes[pc]);
		step = (uint32_t)bytecode_length(c->bytes, pc, c->len);
		c->e->in.is_bad |= !step || place > CODE_MAX;
		for (uint32_t i = 0; i < step; i++)
			at[pc + i] = (uint16_t)place;
		place += kind == BYTECODE_RETURN && code_is_timed(c) ? CODE_LEFT_BYTES : 0;
		place += length_at(place, kind, pc, step);
	}
	c->end = place;
	c->handler = code_is_timed(c) && !c->is_init ? place : 0;
	place += c->handler ? CODE_HANDLER_BYTES : 0;
	if (!c->len || place > CODE_MAX || (c->len <= HUGE_BYTES && place > HUGE_BYTES))
		c->e->in.is_bad = 1;
	at[c->len] = (uint16_t)c->end;
}
