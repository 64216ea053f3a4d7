/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a method, with calls of hooks added. */
#include "jvmmap/classedit.h"

#include "jvmmap/bytecode.h"

#define CODE_CALL_BYTES    8  /* ldc_w NUMBER; invokestatic HOOK.entered; nop; nop */
#define CODE_CLOCK_BYTES   8  /* invokestatic System.nanoTime; lstore BEGIN; nop */
#define CODE_LEFT_BYTES    13 /* lload BEGIN; ldc2_w MINIMUM; ldc_w NUMBER; invokestatic HOOK.left */
#define CODE_HANDLER_BYTES (CODE_LEFT_BYTES + 1) /* athrow */

/* Whether the method reports calls that last long. */
static inline int code_is_timed(const struct code *c)
{
	return (c->wants & CLASS_LASTED) != 0;
}

#define HUGE_BYTES 8000 /* HotSpot compiles no larger method, see HugeMethodLimit */

/*
 * The place in the changed code of the instruction at `pc`, or of the hook before it. If `pc` is
 * the length of the code, that is `end`.
 */
static uint32_t code_moved(struct code *c, uint32_t pc)
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

/* Finds the place of each instruction: begin, end, handler. e->in is bad if they do not fit. */
static void code_lay_out(struct code *c)
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

/* The StackMapTable of a method: the types of variables and stack where jumps lead. */
enum frame_type {
	FRAME_SAME_MAX = 63,
	FRAME_STACK_1_MAX = 127,
	FRAME_STACK_1_FAR = 247,
	FRAME_SAME_FAR = 251, /* 248 to 250: with fewer variables */
	FRAME_FULL = 255,     /* 252 to 254: with (type - 251) more variables */
};

enum verification_type {
	TYPE_TOP = 0,
	TYPE_INTEGER = 1,
	TYPE_FLOAT = 2,
	TYPE_DOUBLE = 3,
	TYPE_LONG = 4,
	TYPE_UNINITIALIZED_THIS = 6,
	TYPE_OBJECT = 7,        /* the class follows */
	TYPE_UNINITIALIZED = 8, /* the offset of the `new` that made it follows */
};

/* A type in one number. `more` is what follows it in the file. */
static uint32_t type_of(enum verification_type type, uint32_t more)
{
	return (uint32_t)type << 16 | more;
}

static uint32_t take_type(struct code *c)
{
	uint32_t type = take_u8(&c->e->in), more = 0;

	if (type == TYPE_OBJECT)
		more = take_u16(&c->e->in);
	else if (type == TYPE_UNINITIALIZED)
		more = code_moved(c, take_u16(&c->e->in));
	else if (type > TYPE_UNINITIALIZED)
		c->e->in.is_bad = 1;
	return type_of(type, more);
}

static void put_type(struct output *out, uint32_t type)
{
	put_u8(out, type >> 16);
	if (type >> 16 >= TYPE_OBJECT)
		put_u16(out, type);
}

static void copy_types(struct code *c, uint32_t nr)
{
	for (uint32_t i = 0; i < nr && !c->e->in.is_bad; i++)
		put_type(&c->e->out, take_type(c));
}

/* A frame holds its distance from the previous one: only the first frame changes. */
static void move_frame(struct code *c, uint32_t by)
{
	struct editor *e = c->e;
	uint32_t type = take_u8(&e->in), off;

	if (type <= FRAME_STACK_1_MAX) {
		uint32_t has_stack = type > FRAME_SAME_MAX;
		off = (type & FRAME_SAME_MAX) + by;
		if (off <= FRAME_SAME_MAX)
			put_u8(&e->out, off + has_stack * (FRAME_SAME_MAX + 1));
		else
			put_u8(&e->out, has_stack ? FRAME_STACK_1_FAR : FRAME_SAME_FAR);
		if (off > FRAME_SAME_MAX)
			put_u16(&e->out, off);
		copy_types(c, has_stack);
		return;
	}
	if (type < FRAME_STACK_1_FAR)
		e->in.is_bad = 1;
	put_u8(&e->out, type);
	off = take_u16(&e->in) + by;
	if (off > CODE_MAX)
		e->in.is_bad = 1;
	put_u16(&e->out, off);
	if (type == FRAME_STACK_1_FAR)
		copy_types(c, 1);
	else if (type == FRAME_FULL)
		for (int k = 0; k < 2; k++)
			copy_types(c, copy_u16(e));
	else if (type > FRAME_SAME_FAR)
		copy_types(c, type - FRAME_SAME_FAR);
}

/* Copies the content of the attribute with the frames moved. The types do not change. */
static void frames_move(struct code *c)
{
	uint32_t nr = copy_u16(c->e);

	for (uint32_t i = 0; i < nr && !c->e->in.is_bad; i++)
		move_frame(c, i ? 0 : c->begin);
}

/* The frame that is being copied. */
struct frame {
	uint32_t nr;    /* types of variables in editor.types */
	uint32_t slots; /* slots of the variables: long and double take two */
	uint32_t pc;    /* of the file */
	/* place in the changed code; until the frame is written, the place of the previous frame */
	uint32_t place;
	int is_first;
};

static uint32_t slots_of(uint32_t type)
{
	return type >> 16 == TYPE_LONG || type >> 16 == TYPE_DOUBLE ? 2 : 1;
}

static void add_variable(struct code *c, struct frame *f, uint32_t type)
{
	f->slots += slots_of(type);
	if (f->slots > c->nr_variables) {
		c->e->in.is_bad = 1;
		return;
	}
	c->e->types[f->nr++] = type;
}

static void remove_variables(struct code *c, struct frame *f, uint32_t nr)
{
	for (; nr && f->nr; nr--)
		f->slots -= slots_of(c->e->types[--f->nr]);
	c->e->in.is_bad |= nr != 0;
}

/* The variables at the begin of the method: its parameters. */
static void begin_frames(struct code *c, struct frame *f)
{
	struct input type = text_of(c->e, c->type), name;
	uint32_t letter, next = c->first_type;

	*f = (struct frame){ .is_first = 1 };
	if (c->has_this)
		add_variable(c, f,
			     c->is_init ? type_of(TYPE_UNINITIALIZED_THIS, 0)
					: type_of(TYPE_OBJECT, c->e->this_class));
	take_u8(&type);
	while ((letter = take_parameter(&type, &name)) && !c->e->in.is_bad) {
		int is_class = letter == 'L' || letter == '[';
		add_variable(c, f,
			     is_class        ? type_of(TYPE_OBJECT, next)
			     : letter == 'J' ? type_of(TYPE_LONG, 0)
			     : letter == 'D' ? type_of(TYPE_DOUBLE, 0)
			     : letter == 'F' ? type_of(TYPE_FLOAT, 0)
					     : type_of(TYPE_INTEGER, 0));
		next += is_class ? 2 : 0;
	}
	c->e->in.is_bad |= type.is_bad;
}

/* Writes a frame of variables, without its stack. */
static void put_variables(struct code *c, struct frame *f, uint32_t place)
{
	struct editor *e = c->e;
	uint32_t nr_unused = c->nr_variables - f->slots;

	put_u8(&e->out, FRAME_FULL);
	put_u16(&e->out, place - (f->is_first ? 0 : f->place + 1));
	put_u16(&e->out, f->nr + nr_unused + 1);
	for (uint32_t i = 0; i < f->nr; i++)
		put_type(&e->out, e->types[i]);
	while (nr_unused--)
		put_type(&e->out, type_of(TYPE_TOP, 0));
	put_type(&e->out, type_of(TYPE_LONG, 0));
	f->place = place;
	f->is_first = 0;
}

/* Takes the variables of the next frame. Returns the number of types on its stack. */
static uint32_t take_variables(struct code *c, struct frame *f)
{
	struct editor *e = c->e;
	uint32_t type = take_u8(&e->in), nr = 0;
	int is_near = type <= FRAME_STACK_1_MAX;
	uint32_t off = is_near ? type & FRAME_SAME_MAX : take_u16(&e->in);

	e->in.is_bad |= !is_near && type < FRAME_STACK_1_FAR;
	f->pc += off + (f->is_first ? 0 : 1);
	if (type > FRAME_STACK_1_FAR && type < FRAME_SAME_FAR)
		remove_variables(c, f, FRAME_SAME_FAR - type);
	if (type == FRAME_FULL) {
		f->nr = f->slots = 0;
		nr = take_u16(&e->in);
	} else if (type > FRAME_SAME_FAR) {
		nr = type - FRAME_SAME_FAR;
	}
	for (uint32_t i = 0; i < nr && !e->in.is_bad; i++)
		add_variable(c, f, take_type(c));
	if (type == FRAME_FULL)
		return take_u16(&e->in);
	return type == FRAME_STACK_1_FAR || (is_near && type > FRAME_SAME_MAX);
}

static void extend_frame(struct code *c, struct frame *f)
{
	uint32_t nr_stack = take_variables(c, f);
	uint32_t place = code_moved(c, f->pc);

	/* An invalid table could have two frames at one place. */
	if (c->e->in.is_bad || (!f->is_first && place <= f->place)) {
		c->e->in.is_bad = 1;
		return;
	}
	put_variables(c, f, place);
	put_u16(&c->e->out, nr_stack);
	copy_types(c, nr_stack);
}

/*
 * Writes the frame of the handler. The time of the begin is the only variable that is surely set
 * wherever an exception occurs.
 */
static void put_handler(struct code *c, struct frame *f)
{
	f->nr = f->slots = 0;
	put_variables(c, f, c->handler);
	put_u16(&c->e->out, 1);
	put_type(&c->e->out, type_of(TYPE_OBJECT, c->e->nr_constants + NEW_THROWABLE));
}

/*
 * Copies the StackMapTable for code with one more variable behind all others, a long. Every frame
 * then names that variable. The frame of code->handler is added if there is one. With is_new there
 * is no attribute to copy.
 */
static void frames_extend(struct code *c, int is_new)
{
	uint32_t nr = is_new ? 0 : take_u16(&c->e->in);
	struct frame f;

	c->e->in.is_bad |= nr + (c->handler != 0) > 65535;
	put_u16(&c->e->out, nr + (c->handler != 0));
	begin_frames(c, &f);
	for (uint32_t i = 0; i < nr && !c->e->in.is_bad; i++)
		extend_frame(c, &f);
	if (c->handler && !c->e->in.is_bad)
		put_handler(c, &f);
}

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

/*
 * Moves the table of exception handlers. The JVM takes the first handler that fits. Ours, which
 * fits all exceptions, is therefore the last one: it gets those that the method itself does not
 * catch.
 */
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

/* Moves line numbers. The hooks before the first instruction get the line of that instruction. */
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

/*
 * Moves the ranges in which local variables are valid. A range that begins with the method, as
 * those of parameters do, also covers the hooks before its first instruction.
 */
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
