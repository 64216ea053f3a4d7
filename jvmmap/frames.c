/* SPDX-License-Identifier: Apache-2.0 */
/* The StackMapTable of a method. */
#include "jvmmap/frames.h"

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

void frames_move(struct code *c)
{
	uint32_t nr = copy_u16(c->e);

	for (uint32_t i = 0; i < nr && !c->e->in.is_bad; i++)
		move_frame(c, i ? 0 : c->begin);
}

/* The frame that is being copied. */
struct frame {
	uint32_t nr;    /* types of variables in editor.types */
	uint32_t slots; /* variables that they take: long and double take two */
	uint32_t pc;    /* of the file */
	uint32_t place; /* in the changed code; of the previous frame until it is written */
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

/* No variable but the time of the begin is known to be set wherever an exception occurs. */
static void put_handler(struct code *c, struct frame *f)
{
	f->nr = f->slots = 0;
	put_variables(c, f, c->handler);
	put_u16(&c->e->out, 1);
	put_type(&c->e->out, type_of(TYPE_OBJECT, c->e->nr_constants + NEW_THROWABLE));
}

void frames_extend(struct code *c, int is_new)
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
