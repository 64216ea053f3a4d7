/* SPDX-License-Identifier: Apache-2.0 */
/* Class files with a call at the beginning of some methods. */
#include "jvmmap/classfile.h"

#include "jvmmap/sys.h"

#define CALL_BYTES  8
#define CODE_MAX    65535
#define NEW_ENTRIES 6 /* in the constant pool, besides one per method */

enum constant {
	CONSTANT_UTF8 = 1,
	CONSTANT_INTEGER = 3,
	CONSTANT_LONG = 5,
	CONSTANT_DOUBLE = 6,
	CONSTANT_CLASS = 7,
	CONSTANT_METHOD = 10,
	CONSTANT_NAME_AND_TYPE = 12,
};

/* Bytes after the tag; 0: no such tag, or a variable length. */
static const uint8_t constant_bytes[] = { 0, 0, 0, 4, 4, 8, 8, 2, 2, 4, 4,
					  4, 4, 0, 0, 3, 2, 4, 4, 2, 2 };

struct input {
	const uint8_t *at, *end;
	int is_bad; /* it ended too early or has invalid content */
};

struct output {
	uint8_t *at; /* NULL: only count */
	size_t len, room;
};

struct editor {
	struct input in;
	struct output out;
	const uint8_t *file;
	uint32_t *places; /* offsets of the constants in the file */
	uint32_t nr_constants;
	struct class_hook *hook;
};

static const uint8_t *take(struct input *in, size_t len)
{
	static const uint8_t nothing[8];
	const uint8_t *at = in->at;

	if ((size_t)(in->end - at) < len) {
		in->is_bad = 1;
		in->at = in->end;
		return len <= sizeof(nothing) ? nothing : NULL;
	}
	in->at += len;
	return at;
}

static uint32_t take_u8(struct input *in)
{
	return *take(in, 1);
}

static uint32_t take_u16(struct input *in)
{
	const uint8_t *b = take(in, 2);

	return (uint32_t)b[0] << 8 | b[1];
}

static uint32_t take_u32(struct input *in)
{
	uint32_t high = take_u16(in);

	return high << 16 | take_u16(in);
}

static struct input take_part(struct input *in, size_t len)
{
	const uint8_t *at = take(in, len);

	return in->is_bad ? (struct input){ in->end, in->end, 1 }
			  : (struct input){ at, at + len, 0 };
}

static void put(struct output *out, const void *bytes, size_t len)
{
	/* A method that does not fit is still measured; the caller then drops it. */
	if (out->at && out->len + len <= out->room)
		memcpy(out->at + out->len, bytes, len);
	out->len += len;
}

static void put_u8(struct output *out, uint32_t value)
{
	const uint8_t byte = (uint8_t)value;

	put(out, &byte, 1);
}

static void put_u16(struct output *out, uint32_t value)
{
	put_u8(out, value >> 8);
	put_u8(out, value);
}

static void put_u32(struct output *out, uint32_t value)
{
	put_u16(out, value >> 16);
	put_u16(out, value);
}

/* Fills in a value that was left blank at `place`. */
static void fill_u32(struct output *out, size_t place, uint32_t value)
{
	struct output there = { out->at, place, out->room };

	put_u32(&there, value);
}

static void copy(struct editor *e, size_t len)
{
	const uint8_t *at = take(&e->in, len);

	if (!e->in.is_bad)
		put(&e->out, at, len);
}

static uint32_t copy_u16(struct editor *e)
{
	uint32_t value = take_u16(&e->in);

	put_u16(&e->out, value);
	return value;
}

static void put_utf8(struct output *out, const char *text)
{
	uint32_t len = 0;

	while (text[len])
		len++;
	put_u8(out, CONSTANT_UTF8);
	put_u16(out, len);
	put(out, text, len);
}

/* Adds the constants of the calls: the called method, its class, and last the numbers. */
static void put_constants(struct editor *e)
{
	uint32_t first = e->nr_constants;

	put_u8(&e->out, CONSTANT_METHOD);
	put_u16(&e->out, first + 1);
	put_u16(&e->out, first + 2);
	put_u8(&e->out, CONSTANT_CLASS);
	put_u16(&e->out, first + 3);
	put_u8(&e->out, CONSTANT_NAME_AND_TYPE);
	put_u16(&e->out, first + 4);
	put_u16(&e->out, first + 5);
	put_utf8(&e->out, e->hook->class);
	put_utf8(&e->out, CLASS_HOOK_METHOD);
	put_utf8(&e->out, CLASS_HOOK_TYPE);
	for (int i = 0; i < e->hook->nr; i++) {
		put_u8(&e->out, CONSTANT_INTEGER);
		put_u32(&e->out, e->hook->methods[i].number);
	}
}

static void skip_constant(struct editor *e, uint32_t *i)
{
	uint32_t tag = take_u8(&e->in);

	if (tag == CONSTANT_UTF8)
		take_part(&e->in, take_u16(&e->in));
	else if (tag < sizeof(constant_bytes) && constant_bytes[tag])
		take(&e->in, constant_bytes[tag]);
	else
		e->in.is_bad = 1;
	/* These two take two entries each. */
	*i += tag == CONSTANT_LONG || tag == CONSTANT_DOUBLE ? 2 : 1;
}

static void copy_constants(struct editor *e)
{
	uint32_t nr = take_u16(&e->in), all = nr + NEW_ENTRIES + (uint32_t)e->hook->nr;
	const uint8_t *begin = e->in.at;

	e->nr_constants = nr;
	if (!nr || all > 65535)
		e->in.is_bad = 1;
	for (uint32_t i = 0; i < nr; i++)
		e->places[i] = 0;
	for (uint32_t i = 1; i < nr && !e->in.is_bad;) {
		e->places[i] = (uint32_t)(e->in.at - e->file);
		skip_constant(e, &i);
	}
	put_u16(&e->out, all);
	put(&e->out, begin, (size_t)(e->in.at - begin));
	put_constants(e);
}

/* Whether the constant is this text. */
static int is_text(const struct editor *e, uint32_t constant, const char *text, size_t len)
{
	const uint8_t *at = e->file + (constant < e->nr_constants ? e->places[constant] : 0);

	if (at == e->file || at[0] != CONSTANT_UTF8 || (size_t)(at[1] << 8 | at[2]) != len)
		return 0;
	for (size_t i = 0; i < len; i++)
		if (at[3 + i] != (uint8_t)text[i])
			return 0;
	return 1;
}

#define IS_TEXT(e, constant, text) is_text(e, constant, text, sizeof(text) - 1)

static uint32_t moved(struct editor *e, uint32_t pc)
{
	if (pc + CALL_BYTES > CODE_MAX)
		e->in.is_bad = 1;
	return pc + CALL_BYTES;
}

static void copy_handlers(struct editor *e)
{
	uint32_t nr = copy_u16(e);

	for (uint32_t i = 0; i < nr && !e->in.is_bad; i++) {
		for (int k = 0; k < 3; k++)
			put_u16(&e->out, moved(e, take_u16(&e->in)));
		copy_u16(e);
	}
}

/* The call gets the line of the first instruction. */
static void copy_lines(struct editor *e)
{
	uint32_t nr = copy_u16(e);

	for (uint32_t i = 0; i < nr && !e->in.is_bad; i++) {
		uint32_t pc = take_u16(&e->in);
		put_u16(&e->out, pc ? moved(e, pc) : 0);
		copy_u16(e);
	}
}

/* Parameters are valid from the call on. */
static void copy_variables(struct editor *e)
{
	uint32_t nr = copy_u16(e);

	for (uint32_t i = 0; i < nr && !e->in.is_bad; i++) {
		uint32_t pc = take_u16(&e->in), len = take_u16(&e->in);
		put_u16(&e->out, pc ? moved(e, pc) : 0);
		put_u16(&e->out, pc ? len : moved(e, len));
		copy(e, 6);
	}
}

enum frame_type {
	FRAME_SAME_MAX = 63,
	FRAME_STACK_1_MAX = 127,
	FRAME_STACK_1_FAR = 247,
	FRAME_SAME_FAR = 251, /* 248 to 250: with fewer variables */
	FRAME_FULL = 255,     /* 252 to 254: with (type - 251) more variables */
};

enum verification_type {
	TYPE_OBJECT = 7,        /* the class follows */
	TYPE_UNINITIALIZED = 8, /* the offset of the `new` that made it follows */
};

static void copy_types(struct editor *e, uint32_t nr)
{
	for (uint32_t i = 0; i < nr && !e->in.is_bad; i++) {
		uint32_t type = take_u8(&e->in);
		put_u8(&e->out, type);
		if (type == TYPE_OBJECT)
			copy_u16(e);
		else if (type == TYPE_UNINITIALIZED)
			put_u16(&e->out, moved(e, take_u16(&e->in)));
	}
}

/* A frame holds its distance from the previous one: only the first frame changes. */
static void copy_frame(struct editor *e, uint32_t by)
{
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
		copy_types(e, has_stack);
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
		copy_types(e, 1);
	else if (type == FRAME_FULL)
		for (int k = 0; k < 2; k++)
			copy_types(e, copy_u16(e));
	else if (type > FRAME_SAME_FAR)
		copy_types(e, type - FRAME_SAME_FAR);
}

static void copy_frames(struct editor *e)
{
	uint32_t nr = copy_u16(e);

	for (uint32_t i = 0; i < nr && !e->in.is_bad; i++)
		copy_frame(e, i ? 0 : CALL_BYTES);
}

/* Copies an attribute of the code. Returns 0 if it is left out, because only tools read it. */
static int copy_code_attribute(struct editor *e)
{
	struct input outer = e->in;
	uint32_t name = take_u16(&outer), len = take_u32(&outer);
	size_t place = e->out.len + 2;

	e->in = take_part(&outer, len);
	if (IS_TEXT(e, name, "RuntimeVisibleTypeAnnotations") ||
	    IS_TEXT(e, name, "RuntimeInvisibleTypeAnnotations")) {
		e->in = outer;
		return 0;
	}
	put_u16(&e->out, name);
	put_u32(&e->out, 0);
	if (IS_TEXT(e, name, "LineNumberTable"))
		copy_lines(e);
	else if (IS_TEXT(e, name, "LocalVariableTable") ||
		 IS_TEXT(e, name, "LocalVariableTypeTable"))
		copy_variables(e);
	else if (IS_TEXT(e, name, "StackMapTable"))
		copy_frames(e);
	copy(e, (size_t)(e->in.end - e->in.at));
	fill_u32(&e->out, place, (uint32_t)(e->out.len - place - 4));
	outer.is_bad |= e->in.is_bad;
	e->in = outer;
	return 1;
}

static void put_call(struct editor *e, int method)
{
	const uint8_t ldc_w = 0x13, invokestatic = 0xb8;

	put_u8(&e->out, ldc_w);
	put_u16(&e->out, e->nr_constants + NEW_ENTRIES + (uint32_t)method);
	put_u8(&e->out, invokestatic);
	put_u16(&e->out, e->nr_constants);
	put_u16(&e->out, 0); /* nop, nop */
}

/* The content of a Code attribute, up to the end of e->in. */
static void copy_code(struct editor *e, int method)
{
	uint32_t stack = take_u16(&e->in);

	put_u16(&e->out, stack ? stack : 1);
	copy_u16(e); /* variables */
	uint32_t len = take_u32(&e->in);
	put_u32(&e->out, len + CALL_BYTES);
	if (len > CODE_MAX - CALL_BYTES)
		e->in.is_bad = 1;
	put_call(e, method);
	copy(e, len);
	copy_handlers(e);

	size_t place = e->out.len;
	uint32_t nr = take_u16(&e->in), nr_kept = 0;
	put_u16(&e->out, 0);
	for (uint32_t i = 0; i < nr && !e->in.is_bad; i++)
		nr_kept += (uint32_t)copy_code_attribute(e);
	struct output there = { e->out.at, place, e->out.room };
	put_u16(&there, nr_kept);
}

/* Copies the attribute with the call inserted, or unchanged if that fails. */
static void copy_method_attribute(struct editor *e, int method)
{
	struct input whole = e->in, outer = e->in;
	uint32_t name = take_u16(&outer), len = take_u32(&outer);
	struct output before = e->out;

	e->in = take_part(&outer, len);
	if (!e->in.is_bad && method >= 0 && IS_TEXT(e, name, "Code")) {
		put_u16(&e->out, name);
		put_u32(&e->out, 0);
		copy_code(e, method);
		if (!e->in.is_bad && e->in.at == e->in.end) {
			fill_u32(&e->out, before.len + 2, (uint32_t)(e->out.len - before.len - 6));
			e->hook->methods[method].nr_hooked++;
			e->in = outer;
			return;
		}
		e->out = before;
	}
	e->in = whole;
	copy(e, 6 + (size_t)len);
}

static int wanted_method(const struct editor *e, uint32_t name)
{
	for (int i = 0; i < e->hook->nr; i++)
		if (is_text(e, name, e->hook->methods[i].name, e->hook->methods[i].len))
			return i;
	return -1;
}

static void copy_member(struct editor *e, int is_method)
{
	copy_u16(e); /* access */
	uint32_t name = copy_u16(e);
	copy_u16(e); /* type */
	uint32_t nr = copy_u16(e);
	int method = is_method ? wanted_method(e, name) : -1;

	for (uint32_t i = 0; i < nr && !e->in.is_bad; i++)
		copy_method_attribute(e, method);
}

#define HEADER_BYTES 8

size_t class_constants(const uint8_t *file, size_t len)
{
	struct input in = { file, file + len, 0 };

	if (take_u32(&in) != 0xcafebabe)
		return 0;
	take_u32(&in); /* version */
	uint32_t nr = take_u16(&in);
	return in.is_bad ? 0 : nr;
}

size_t class_hook(const uint8_t *file, size_t len, struct class_hook *hook, uint32_t *places,
		  uint8_t *out, size_t room)
{
	struct editor e = {
		.in = { file, file + len, 0 },
		.out = { out, 0, room },
		.file = file,
		.places = places,
		.hook = hook,
	};

	if (!class_constants(file, len))
		return 0;
	for (int i = 0; i < hook->nr; i++)
		hook->methods[i].nr_hooked = 0;
	copy(&e, HEADER_BYTES);
	copy_constants(&e);
	copy(&e, 6); /* access, class, superclass */
	copy(&e, 2 * (size_t)copy_u16(&e));
	for (int is_method = 0; is_method < 2; is_method++) {
		uint32_t nr = copy_u16(&e);
		for (uint32_t i = 0; i < nr && !e.in.is_bad; i++)
			copy_member(&e, is_method);
	}
	copy(&e, (size_t)(e.in.end - e.in.at));
	return e.in.is_bad ? 0 : e.out.len;
}

size_t class_of_hook(const char *name, uint8_t bytes[CLASS_BYTES])
{
	struct output out = { bytes, 0, CLASS_BYTES };

	put_u32(&out, 0xcafebabe);
	put_u32(&out, 52); /* of JDK 8 */
	put_u16(&out, 7);
	put_utf8(&out, name);
	put_u8(&out, CONSTANT_CLASS);
	put_u16(&out, 1);
	put_utf8(&out, "java/lang/Object");
	put_u8(&out, CONSTANT_CLASS);
	put_u16(&out, 3);
	put_utf8(&out, CLASS_HOOK_METHOD);
	put_utf8(&out, CLASS_HOOK_TYPE);
	put_u16(&out, 0x1031); /* public final super synthetic */
	put_u16(&out, 2);
	put_u16(&out, 4);
	put_u16(&out, 0); /* interfaces */
	put_u16(&out, 0); /* fields */
	put_u16(&out, 1);
	put_u16(&out, 0x0109); /* public static native */
	put_u16(&out, 5);
	put_u16(&out, 6);
	put_u16(&out, 0); /* attributes of the method, of the class */
	put_u16(&out, 0);
	return out.len;
}
