/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a method, with calls of hooks added. */
#include "jvmmap/codehook.h"

#include "jvmmap/bytecode.h"
#include "jvmmap/frames.h"

#define LEFT_STACK 5

static void put_op(struct code *c, enum opcode op, uint32_t operand)
{
	put_u8(&c->e->out, op);
	put_u16(&c->e->out, operand);
}

/* lload or lstore of the time of the begin. */
static void put_begin(struct code *c, enum opcode op)
{
	put_u8(&c->e->out, OP_WIDE);
	put_op(c, op, c->nr_variables);
}

static void put_entry(struct code *c)
{
	uint32_t first = c->e->nr_constants;

	if (c->wants & CLASS_ENTERED) {
		put_op(c, OP_LDC_W, first + NEW_NUMBERS + 3 * (uint32_t)c->method);
		put_op(c, OP_INVOKESTATIC, first + NEW_ENTERED);
		put_u16(&c->e->out, OP_NOP << 8 | OP_NOP);
	}
	if (code_is_timed(c)) {
		put_op(c, OP_INVOKESTATIC, first + NEW_NANO_TIME);
		put_begin(c, OP_LSTORE);
		put_u8(&c->e->out, OP_NOP);
	}
}

static void put_left(struct code *c)
{
	uint32_t first = c->e->nr_constants, number = first + NEW_NUMBERS + 3 * (uint32_t)c->method;

	put_begin(c, OP_LLOAD);
	put_op(c, OP_LDC2_W, number + 1);
	put_op(c, OP_LDC_W, number);
	put_op(c, OP_INVOKESTATIC, first + NEW_LEFT);
}

/* The distance of a jump from `pc`, given the one in the file. */
static int32_t distance(struct code *c, uint32_t pc, int32_t old)
{
	int64_t target = (int64_t)pc + old;

	if (target < 0 || target >= c->len) {
		c->e->in.is_bad = 1;
		return 0;
	}
	return (int32_t)code_moved(c, (uint32_t)target) - (int32_t)code_moved(c, pc);
}

static void put_jump(struct code *c, uint32_t pc, struct input *in)
{
	int32_t to = distance(c, pc, (int16_t)take_u16(in));

	if (to != (int16_t)to)
		c->e->in.is_bad = 1;
	put_u16(&c->e->out, (uint32_t)to);
}

static void put_far_jump(struct code *c, uint32_t pc, struct input *in)
{
	put_u32(&c->e->out, (uint32_t)distance(c, pc, (int32_t)take_u32(in)));
}

/* `in` is behind the first byte. */
static void put_switch(struct code *c, uint32_t pc, int is_table, struct input *in)
{
	uint32_t place = code_moved(c, pc),
		 zeros = (uint32_t)bytecode_switch_numbers(place) - place - 1;

	take_part(in, bytecode_switch_numbers(pc) - pc - 1);
	while (zeros--)
		put_u8(&c->e->out, 0);
	put_far_jump(c, pc, in);
	for (int i = 0; i < (is_table ? 2 : 1); i++)
		put_u32(&c->e->out, take_u32(in));
	while (in->at < in->end && !in->is_bad) {
		if (!is_table)
			put_u32(&c->e->out, take_u32(in));
		put_far_jump(c, pc, in);
	}
}

static void put_instruction(struct code *c, uint32_t pc, uint32_t length)
{
	struct input in = { c->bytes + pc, c->bytes + pc + length, 0 };
	enum bytecode_kind kind = bytecode_kind(*in.at);

	if (kind == BYTECODE_RETURN && code_is_timed(c))
		put_left(c);
	if (kind == BYTECODE_OTHER || kind == BYTECODE_RETURN) {
		put(&c->e->out, in.at, length);
		return;
	}
	put_u8(&c->e->out, take_u8(&in));
	if (kind == BYTECODE_JUMP)
		put_jump(c, pc, &in);
	else if (kind == BYTECODE_JUMP_FAR)
		put_far_jump(c, pc, &in);
	else
		put_switch(c, pc, kind == BYTECODE_TABLE, &in);
}

static void put_code(struct code *c)
{
	put_u32(&c->e->out, c->end + (c->handler ? CODE_HANDLER_BYTES : 0));
	put_entry(c);
	for (uint32_t pc = 0, step; pc < c->len && !c->e->in.is_bad; pc += step) {
		step = (uint32_t)bytecode_length(c->bytes, pc, c->len);
		put_instruction(c, pc, step);
	}
	if (c->handler) {
		put_left(c);
		put_u8(&c->e->out, OP_ATHROW);
	}
}

/* The handler of all exceptions comes last: it gets those that the method does not catch. */
static void copy_handlers(struct code *c)
{
	struct editor *e = c->e;
	uint32_t nr = take_u16(&e->in);

	if (nr == 65535)
		e->in.is_bad = 1;
	put_u16(&e->out, nr + (c->handler != 0));
	for (uint32_t i = 0; i < nr && !e->in.is_bad; i++) {
		for (int k = 0; k < 3; k++)
			put_u16(&e->out, code_moved(c, take_u16(&e->in)));
		copy_u16(e);
	}
	if (c->handler) {
		put_u16(&e->out, c->begin);
		put_u16(&e->out, c->end);
		put_u16(&e->out, c->handler);
		put_u16(&e->out, 0);
	}
}

/* The hooks at the begin get the line of the first instruction. */
static void copy_lines(struct code *c)
{
	struct editor *e = c->e;
	uint32_t nr = copy_u16(e);

	for (uint32_t i = 0; i < nr && !e->in.is_bad; i++) {
		uint32_t pc = take_u16(&e->in);
		put_u16(&e->out, pc ? code_moved(c, pc) : 0);
		copy_u16(e);
	}
}

/* Parameters are valid from the hooks on. */
static void copy_variables(struct code *c)
{
	struct editor *e = c->e;
	uint32_t nr = copy_u16(e);

	for (uint32_t i = 0; i < nr && !e->in.is_bad; i++) {
		uint32_t pc = take_u16(&e->in), len = take_u16(&e->in);
		uint32_t begin = pc ? code_moved(c, pc) : 0;
		put_u16(&e->out, begin);
		put_u16(&e->out, code_moved(c, pc + len) - begin);
		copy(e, 6);
	}
}

enum copied {
	COPIED,
	COPIED_FRAMES,
	LEFT_OUT,
};

/* Copies an attribute of the code. Those that only tools read are left out. */
static enum copied copy_attribute(struct code *c)
{
	struct editor *e = c->e;
	struct input outer = e->in;
	uint32_t name = take_u16(&outer), len = take_u32(&outer);
	size_t place = e->out.len + 2;
	int is_frames = IS_TEXT(e, name, "StackMapTable");

	e->in = take_part(&outer, len);
	if (IS_TEXT(e, name, "RuntimeVisibleTypeAnnotations") ||
	    IS_TEXT(e, name, "RuntimeInvisibleTypeAnnotations")) {
		e->in = outer;
		return LEFT_OUT;
	}
	put_u16(&e->out, name);
	put_u32(&e->out, 0);
	if (IS_TEXT(e, name, "LineNumberTable"))
		copy_lines(c);
	else if (IS_TEXT(e, name, "LocalVariableTable") ||
		 IS_TEXT(e, name, "LocalVariableTypeTable"))
		copy_variables(c);
	else if (is_frames && code_is_timed(c))
		frames_extend(c, 0);
	else if (is_frames)
		frames_move(c);
	copy(e, (size_t)(e->in.end - e->in.at));
	fill_u32(&e->out, place, (uint32_t)(e->out.len - place - 4));
	outer.is_bad |= e->in.is_bad;
	e->in = outer;
	return is_frames ? COPIED_FRAMES : COPIED;
}

/* Older class files have no frames, and newer ones none if the code has no jumps. */
static void put_frames(struct code *c)
{
	struct editor *e = c->e;

	put_u16(&e->out, e->nr_constants + NEW_FRAMES);
	size_t place = e->out.len;
	put_u32(&e->out, 0);
	frames_extend(c, 1);
	fill_u32(&e->out, place, (uint32_t)(e->out.len - place - 4));
}

static void copy_attributes(struct code *c)
{
	struct editor *e = c->e;
	size_t place = e->out.len;
	uint32_t nr = take_u16(&e->in), nr_kept = 0;
	int has_frames = e->version < CLASS_VERSION_FRAMES;

	put_u16(&e->out, 0);
	for (uint32_t i = 0; i < nr && !e->in.is_bad; i++) {
		enum copied copied = copy_attribute(c);
		nr_kept += copied != LEFT_OUT;
		has_frames |= copied == COPIED_FRAMES;
	}
	if (c->handler && !has_frames) {
		put_frames(c);
		nr_kept++;
	}
	if (nr_kept > 65535)
		e->in.is_bad = 1;
	fill_u16(&e->out, place, nr_kept);
}

void code_hook(struct code *c)
{
	struct editor *e = c->e;
	uint32_t stack = take_u16(&e->in), least = 1;

	c->nr_variables = take_u16(&e->in);
	c->len = take_u32(&e->in);
	struct input code = take_part(&e->in, c->len);
	if (c->len > CODE_MAX)
		e->in.is_bad = 1;
	if (e->in.is_bad)
		return;
	c->bytes = code.at;
	code_lay_out(c);
	if (code_is_timed(c)) {
		least = 1 + LEFT_STACK;
		stack += LEFT_STACK;
	}
	if (stack > 65535 || c->nr_variables > CODE_MAX - 2)
		e->in.is_bad = 1;
	put_u16(&e->out, stack > least ? stack : least);
	put_u16(&e->out, c->nr_variables + (code_is_timed(c) ? 2 : 0));
	put_code(c);
	copy_handlers(c);
	copy_attributes(c);
}
