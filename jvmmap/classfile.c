/* SPDX-License-Identifier: Apache-2.0 */
/* Class files with calls of hooks in some methods. */
#include "jvmmap/classfile.h"

#include "jvmmap/classedit.h"
#include "jvmmap/sys.h"

#define HOOK_ENTERED      "entered"
#define HOOK_ENTERED_TYPE "(I)V"
#define HOOK_LEFT         "left"
#define HOOK_LEFT_TYPE    "(JJI)V"
#define HOOK_LASTED       "lasted"
#define HOOK_LASTED_TYPE  "(IJ)V"
#define CLOCK_CLASS       "java/lang/System"
#define CLOCK             "nanoTime"
#define CLOCK_TYPE        "()J"

#define ACC_STATIC   0x0008
#define VERSION_JDK8 52

/* Bytes after the tag; 0: no such tag, or a variable length. */
static const uint8_t constant_bytes[] = { 0, 0, 0, 4, 4, 8, 8, 2, 2, 4, 4,
					  4, 4, 0, 0, 3, 2, 4, 4, 2, 2 };

static void put_text(struct output *out, const void *text, size_t len)
{
	put_u8(out, CONSTANT_UTF8);
	put_u16(out, (uint32_t)len);
	put(out, text, len);
}

static void put_utf8(struct output *out, const char *text)
{
	size_t len = 0;

	while (text[len])
		len++;
	put_text(out, text, len);
}

static void put_class(struct output *out, uint32_t name)
{
	put_u8(out, CONSTANT_CLASS);
	put_u16(out, name);
}

/* A constant of two others. */
static void put_pair(struct output *out, enum constant tag, uint32_t first, uint32_t second)
{
	put_u8(out, tag);
	put_u16(out, first);
	put_u16(out, second);
}

/* The constants of enum new_constant, which number the first ones of each group. */
static void put_constants(struct editor *e)
{
	struct output *out = &e->out;
	uint32_t first = e->nr_constants;

	put_pair(out, CONSTANT_METHOD, first + 1, first + 2);
	put_class(out, first + 3);
	put_pair(out, CONSTANT_NAME_AND_TYPE, first + 4, first + 5);
	put_utf8(out, e->hook->class);
	put_utf8(out, HOOK_ENTERED);
	put_utf8(out, HOOK_ENTERED_TYPE);
	put_pair(out, CONSTANT_METHOD, first + 1, first + 7);
	put_pair(out, CONSTANT_NAME_AND_TYPE, first + 8, first + 9);
	put_utf8(out, HOOK_LEFT);
	put_utf8(out, HOOK_LEFT_TYPE);
	put_pair(out, CONSTANT_METHOD, first + 11, first + 12);
	put_class(out, first + 13);
	put_pair(out, CONSTANT_NAME_AND_TYPE, first + 14, first + 15);
	put_utf8(out, CLOCK_CLASS);
	put_utf8(out, CLOCK);
	put_utf8(out, CLOCK_TYPE);
	put_class(out, first + 17);
	put_utf8(out, "java/lang/Throwable");
	put_utf8(out, "StackMapTable");
	for (int i = 0; i < e->hook->nr; i++) {
		put_u8(out, CONSTANT_INTEGER);
		put_u32(out, e->hook->methods[i].number);
		put_u8(out, CONSTANT_LONG);
		put_u32(out, (uint32_t)(e->hook->methods[i].min_ns >> 32));
		put_u32(out, (uint32_t)e->hook->methods[i].min_ns);
	}
}

static void skip_constant(struct editor *e, uint32_t *i)
{
	uint32_t tag = take_u8(&e->in);

	if (tag == CONSTANT_UTF8)
		take_part(&e->in, take_u16(&e->in));
	else if (tag < sizeof(constant_bytes) && constant_bytes[tag])
		take_part(&e->in, constant_bytes[tag]);
	else
		e->in.is_bad = 1;
	/* A long or a double takes two entries of the constant pool. */
	*i += tag == CONSTANT_LONG || tag == CONSTANT_DOUBLE ? 2 : 1;
}

static void find_constants(struct editor *e, uint32_t nr)
{
	e->nr_constants = nr;
	if (!nr)
		e->in.is_bad = 1;
	for (uint32_t i = 0; i < nr; i++)
		e->places[i] = 0;
	for (uint32_t i = 1; i < nr && !e->in.is_bad;) {
		e->places[i] = (uint32_t)(e->in.at - e->file);
		skip_constant(e, &i);
	}
}

static int wanted_method(const struct editor *e, uint32_t name)
{
	for (int i = 0; i < e->hook->nr; i++)
		if (is_text(e, name, e->hook->methods[i].name, e->hook->methods[i].len))
			return i;
	return -1;
}

/*
 * Adds the classes of the method's parameters if its frames are going to name them. Returns the
 * number of new constants. With `out` NULL it only counts.
 */
static uint32_t put_parameters(const struct editor *e, int method, uint32_t type, uint32_t next,
			       struct output *out)
{
	struct input rest = text_of(e, type), name;
	uint32_t letter, nr = 0;

	if (method < 0 || !(e->hook->methods[method].wants & CLASS_LASTED))
		return 0;
	take_u8(&rest);
	while ((letter = take_parameter(&rest, &name))) {
		if (letter != 'L' && letter != '[')
			continue;
		if (out) {
			put_class(out, next + nr + 1);
			put_text(out, name.at, (size_t)(name.end - name.at));
		}
		nr += 2;
	}
	return nr;
}

static void skip_members(struct editor *e, int is_method)
{
	uint32_t nr = take_u16(&e->in);

	for (uint32_t i = 0; i < nr && !e->in.is_bad; i++) {
		take_u16(&e->in);
		uint32_t name = take_u16(&e->in), type = take_u16(&e->in);
		uint32_t nr_attributes = take_u16(&e->in);
		int method = is_method ? wanted_method(e, name) : -1;
		e->next_type += put_parameters(e, method, type, e->next_type, &e->out);
		for (uint32_t k = 0; k < nr_attributes && !e->in.is_bad; k++) {
			take_u16(&e->in);
			take_part(&e->in, take_u32(&e->in));
		}
	}
}

/* Adds the classes of the parameters of all timed methods, in the order of the methods. */
static void put_types(struct editor *e)
{
	struct input begin = e->in;
	uint32_t first = e->nr_constants + NEW_NUMBERS + 3 * (uint32_t)e->hook->nr;

	e->next_type = first;
	take_u16(&e->in); /* access */
	e->this_class = take_u16(&e->in);
	take_u16(&e->in); /* superclass */
	take_part(&e->in, 2 * (size_t)take_u16(&e->in));
	for (int is_method = 0; is_method < 2; is_method++)
		skip_members(e, is_method);
	begin.is_bad |= e->in.is_bad;
	e->in = begin;
}

static void copy_constants(struct editor *e)
{
	uint32_t nr = take_u16(&e->in);
	const uint8_t *begin = e->in.at;
	size_t place = e->out.len;

	put_u16(&e->out, 0);
	find_constants(e, nr);
	put(&e->out, begin, (size_t)(e->in.at - begin));
	put_constants(e);
	put_types(e);
	if (e->next_type > 65535)
		e->in.is_bad = 1;
	fill_u16(&e->out, place, e->next_type);
	e->next_type = nr + NEW_NUMBERS + 3 * (uint32_t)e->hook->nr;
}

/* Adds calls to the code. Returns 0, and changes nothing, if the code cannot have these calls. */
static int hook_code(struct editor *e, const struct code *method, uint32_t wants,
		     struct input content, uint32_t name)
{
	struct input whole = e->in;
	struct output before = e->out;
	struct code c = *method;

	c.wants = wants;
	e->in = content;
	put_u16(&e->out, name);
	put_u32(&e->out, 0);
	code_hook(&c);
	int is_done = !e->in.is_bad && e->in.at == e->in.end;
	if (is_done)
		fill_u32(&e->out, before.len + 2, (uint32_t)(e->out.len - before.len - 6));
	else
		e->out = before;
	e->in = whole;
	return is_done;
}

/* Adds all wanted calls to the code. If that fails, adds only the call at its begin. */
static int hook_somehow(struct editor *e, const struct code *method, struct input content,
			uint32_t name)
{
	struct class_method *m = &e->hook->methods[method->method];
	uint32_t wants = m->wants;

	if (!hook_code(e, method, wants, content, name)) {
		wants &= CLASS_ENTERED;
		if (wants == m->wants || !wants || !hook_code(e, method, wants, content, name))
			return 0;
	}
	m->hooked |= wants;
	return 1;
}

/* Copies the attribute with the calls inserted, or unchanged if that fails. */
static void copy_method_attribute(struct editor *e, const struct code *method)
{
	struct input whole = e->in, outer = e->in;
	uint32_t name = take_u16(&outer), len = take_u32(&outer);
	struct input content = take_part(&outer, len);

	if (!content.is_bad && method->method >= 0 && IS_TEXT(e, name, "Code") &&
	    hook_somehow(e, method, content, name)) {
		e->in = outer;
		return;
	}
	e->in = whole;
	copy(e, 6 + (size_t)len);
}

static void copy_member(struct editor *e, int is_method)
{
	struct code method = { .e = e, .method = -1, .first_type = e->next_type };

	method.has_this = !(copy_u16(e) & ACC_STATIC);
	uint32_t name = copy_u16(e);
	method.type = copy_u16(e);
	uint32_t nr = copy_u16(e);
	if (is_method)
		method.method = wanted_method(e, name);
	method.is_init = IS_TEXT(e, name, "<init>");
	e->next_type += put_parameters(e, method.method, method.type, 0, NULL);
	for (uint32_t i = 0; i < nr && !e->in.is_bad; i++)
		copy_method_attribute(e, &method);
}

static uint32_t take_header(struct input *in, uint32_t *version)
{
	if (take_u32(in) != 0xcafebabe)
		return 0;
	take_u16(in);
	*version = take_u16(in);
	uint32_t nr = take_u16(in);
	return in->is_bad ? 0 : nr;
}

/* Behind the places of constants: those of instructions, of half the size, and types. */
#define PLACE_WORDS ((CODE_MAX + 1) / 2)
#define TYPE_WORDS  CODE_MAX

size_t class_work(const uint8_t *file, size_t len)
{
	struct input in = { file, file + len, 0 };
	uint32_t version, nr = take_header(&in, &version);

	return nr ? nr + PLACE_WORDS + TYPE_WORDS : 0;
}

#define HEADER_BYTES 8

size_t class_hook(const uint8_t *file, size_t len, struct class_hook *hook, uint32_t *work,
		  uint8_t *out, size_t room)
{
	struct input head = { file, file + len, 0 };
	struct editor e = {
		.in = head,
		.out = { out, 0, room },
		.file = file,
		.places = work,
		.hook = hook,
	};
	uint32_t nr_constants = take_header(&head, &e.version);

	if (!nr_constants)
		return 0;
	e.at = (uint16_t *)(work + nr_constants);
	e.types = work + nr_constants + PLACE_WORDS;
	for (int i = 0; i < hook->nr; i++)
		hook->methods[i].hooked = 0;
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

enum hook_constant {
	HOOK_CLASS = 2,
	HOOK_OBJECT = 4,
	HOOK_CODE = 5,
	HOOK_FRAMES = 6,
	HOOK_METHODS = 7, /* name and type of each */
	HOOK_CALL_LASTED = 13,
	HOOK_CALL_CLOCK = 15,
	HOOK_CONSTANTS = 21,
};

static void put_hook_constants(struct output *out, const char *name)
{
	put_u16(out, HOOK_CONSTANTS);
	put_utf8(out, name);
	put_class(out, 1);
	put_utf8(out, "java/lang/Object");
	put_class(out, 3);
	put_utf8(out, "Code");
	put_utf8(out, "StackMapTable");
	put_utf8(out, HOOK_ENTERED);
	put_utf8(out, HOOK_ENTERED_TYPE);
	put_utf8(out, HOOK_LASTED);
	put_utf8(out, HOOK_LASTED_TYPE);
	put_utf8(out, HOOK_LEFT);
	put_utf8(out, HOOK_LEFT_TYPE);
	put_pair(out, CONSTANT_METHOD, HOOK_CLASS, 14);
	put_pair(out, CONSTANT_NAME_AND_TYPE, 9, 10);
	put_pair(out, CONSTANT_METHOD, 17, 16);
	put_pair(out, CONSTANT_NAME_AND_TYPE, 19, 20);
	put_class(out, 18);
	put_utf8(out, CLOCK_CLASS);
	put_utf8(out, CLOCK);
	put_utf8(out, CLOCK_TYPE);
}

/* left(begin, min, number): begin = nanoTime() - begin; if (begin >= min) lasted(number, begin) */
static void put_left_code(struct output *out)
{
	static const uint8_t code[] = {
		0xb8, 0,    HOOK_CALL_CLOCK,
		0x1e, 0x65, /* invokestatic, lload_0, lsub */
		0x3f, 0x1e, 0x20,
		0x94,          /* lstore_0, lload_0, lload_2, lcmp */
		0x9b, 0,    9, /* iflt: to the return */
		0x15, 4,    0x1e,
		0xb8, 0,    HOOK_CALL_LASTED, /* iload 4, lload_0, invokestatic */
		0xb1,                         /* return */
	};
	const uint8_t same_frame = sizeof(code) - 1; /* at the return */

	put_u16(out, HOOK_CODE);
	put_u32(out, 8 + sizeof(code) + 4 + 9);
	put_u16(out, 4); /* stack */
	put_u16(out, 5); /* variables */
	put_u32(out, sizeof(code));
	put(out, code, sizeof(code));
	put_u16(out, 0); /* handlers */
	put_u16(out, 1);
	put_u16(out, HOOK_FRAMES);
	put_u32(out, 3);
	put_u16(out, 1);
	put_u8(out, same_frame);
}

size_t class_of_hook(const char *name, uint8_t bytes[CLASS_BYTES])
{
	static const uint16_t access[] = {
		0x0109, /* entered: public static native */
		0x010a, /* lasted: private */
		0x0009, /* left: not native */
	};
	struct output out = { bytes, 0, CLASS_BYTES };

	put_u32(&out, 0xcafebabe);
	put_u32(&out, VERSION_JDK8);
	put_hook_constants(&out, name);
	put_u16(&out, 0x1031); /* public final super synthetic */
	put_u16(&out, HOOK_CLASS);
	put_u16(&out, HOOK_OBJECT);
	put_u16(&out, 0); /* interfaces */
	put_u16(&out, 0); /* fields */
	put_u16(&out, 3);
	for (uint32_t i = 0; i < 3; i++) {
		put_u16(&out, access[i]);
		put_u16(&out, HOOK_METHODS + 2 * i);
		put_u16(&out, HOOK_METHODS + 2 * i + 1);
		put_u16(&out, i == 2); /* attributes */
		if (i == 2)
			put_left_code(&out);
	}
	put_u16(&out, 0); /* attributes of the class */
	return out.len;
}
