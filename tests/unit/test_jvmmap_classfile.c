/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that the agent adds to the methods of a class file. */
#include "test.h"

#include <string.h>

#include "jvmmap/bytecode.c"
#include "jvmmap/classedit.c"
#include "jvmmap/classfile.c"
#include "jvmmap/codehook.c"

#define ROOM         (1 << 19)
#define OWN          10 /* constants of the class */
#define CALL_LEFT    0xc4, 0x16, 0, 1, 0x14, 0, OWN + 20, 0x13, 0, OWN + 19, 0xb8, 0, OWN + 6
#define READ_CLOCK   0xb8, 0, OWN + 10, 0xc4, 0x37, 0, 1, 0
#define CALL_ENTERED 0x13, 0, OWN + 19, 0xb8, 0, OWN, 0, 0
#define RETURN       0xb1
#define IRETURN      0xac
#define ATHROW       0xbf

struct class
{
	uint8_t file[ROOM], out[ROOM];
	uint32_t work[65536 + 32768 + 65536];
	size_t len, out_len;
	struct class_method method;
};

/* Begins a class of one static method run(I)V, or a constructor of that type. */
static struct output begin_class(struct class *c, const char *name)
{
	struct output out = { c->file, 0, ROOM };

	put_u32(&out, 0xcafebabe);
	put_u32(&out, 52);
	put_u16(&out, OWN);
	put_utf8(&out, "A"); /* 1 */
	put_class(&out, 1);
	put_utf8(&out, name); /* 3 */
	put_utf8(&out, "(I)V");
	put_utf8(&out, "Code");
	put_utf8(&out, "StackMapTable");
	put_utf8(&out, "LineNumberTable");
	put_utf8(&out, "LocalVariableTable");
	put_utf8(&out, "(Ljava/lang/String;[IJ)V"); /* 9 */
	for (int i = 0; i < 3; i++)
		put_u16(&out, i ? 2 : 1); /* access, class, superclass */
	put_u32(&out, 0);                 /* interfaces, fields */
	put_u16(&out, 1);
	put_u16(&out, strcmp(name, "<init>") ? 8 : 0);
	put_u16(&out, 3);
	put_u16(&out, 4);
	put_u16(&out, 1);
	put_u16(&out, 5);
	return out;
}

/* The rest of the class: its method's code, handlers and frames, written as in the file. */
static void end_class(struct class *c, struct output *out, const uint8_t *code, size_t len,
		      const uint8_t *rest, size_t rest_len)
{
	put_u32(out, (uint32_t)(8 + len + rest_len));
	put_u16(out, 1);
	put_u16(out, 1);
	put_u32(out, (uint32_t)len);
	put(out, code, len);
	put(out, rest, rest_len);
	put_u16(out, 0);
	c->len = out->len;
}

/* Hooks the only method. Returns its changed Code attribute, from `max_stack` on. */
static const uint8_t *hook(struct class *c, uint32_t wants)
{
	struct class_hook hook = { "H", &c->method, 1 };

	c->method.number = 7;
	c->method.wants = wants;
	c->method.min_ns = 50;
	assert_true(class_work(c->file, c->len) <= sizeof(c->work) / 4);
	size_t counted = class_hook(c->file, c->len, &hook, c->work, NULL, 0);
	c->out_len = class_hook(c->file, c->len, &hook, c->work, c->out, ROOM);
	assert_int_equal(counted, c->out_len);
	assert_true(c->out_len > c->len);
	/* the Code attribute is that before the attributes of the class */
	for (size_t i = c->out_len - 2; i > 6; i--)
		if (c->out[i] == 0 && c->out[i + 1] == 5 &&
		    u32_at(c->out + i + 2) == c->out_len - 2 - i - 6)
			return c->out + i + 6;
	fail();
	return NULL;
}

static const uint8_t nothing[] = { 0, 0, 0, 0 }; /* no handlers, no attributes */

/* Hooks a method run(I)V of this code. */
static const uint8_t *hook_method(struct class *c, const char *name, const uint8_t *code,
				  size_t len, const uint8_t *rest, size_t rest_len, uint32_t wants)
{
	c->method = (struct class_method){ .name = name, .len = strlen(name) };
	struct output out = begin_class(c, name);
	end_class(c, &out, code, len, rest, rest_len);
	return hook(c, wants);
}

#define assert_bytes(at, ...)                                        \
	do {                                                         \
		const uint8_t expected[] = { __VA_ARGS__ };          \
		assert_memory_equal(at, expected, sizeof(expected)); \
	} while (0)

static void a_call_at_the_begin_takes_eight_bytes(void **state)
{
	static struct class c;
	const uint8_t code[] = { RETURN };
	const uint8_t *at = hook_method(&c, "run", code, 1, nothing, 4, CLASS_ENTERED);

	assert_bytes(at, 0, 1, 0, 1, 0, 0, 0, 9, CALL_ENTERED, RETURN, 0, 0, 0, 0);
	assert_int_equal(c.method.hooked, CLASS_ENTERED);
}

/* The handler gets all exceptions of the method, and its frame has the time of the begin. */
static void a_measured_method_calls_the_hook_before_its_end(void **state)
{
	static struct class c;
	const uint8_t code[] = { RETURN };
	const uint8_t *at = hook_method(&c, "run", code, 1, nothing, 4, CLASS_LASTED);

	assert_bytes(at, 0, 6, 0, 3, 0, 0, 0, 36, READ_CLOCK, CALL_LEFT, RETURN, CALL_LEFT,
		     ATHROW,                         /* code */
		     0, 1, 0, 8, 0, 22, 0, 22, 0, 0, /* handler */
		     0, 1, 0, OWN + 18, 0, 0, 0, 14, 0, 1, 255, 0, 22, 0, 2, 0, 4, 0, 1, /* frame */
		     7, 0, OWN + 16);
	assert_int_equal(c.method.hooked, CLASS_LASTED);
}

static void both_calls_fit_into_one_method(void **state)
{
	static struct class c;
	const uint8_t code[] = { RETURN };
	const uint8_t *at =
		hook_method(&c, "run", code, 1, nothing, 4, CLASS_ENTERED | CLASS_LASTED);

	assert_bytes(at + 8, CALL_ENTERED, READ_CLOCK, CALL_LEFT, RETURN);
	assert_int_equal(c.method.hooked, CLASS_ENTERED | CLASS_LASTED);
}

static void a_constructor_has_no_handler(void **state)
{
	static struct class c;
	const uint8_t code[] = { RETURN };
	const uint8_t *at = hook_method(&c, "<init>", code, 1, nothing, 4, CLASS_LASTED);

	assert_bytes(at + 4, 0, 0, 0, 22, READ_CLOCK, CALL_LEFT, RETURN, 0, 0, 0, 0);
}

/* iload_0; ifeq +4; return; return */
static void a_jump_leads_to_the_hook_before_its_target(void **state)
{
	static struct class c;
	const uint8_t code[] = { 0x1a, 0x99, 0, 4, RETURN, RETURN };
	/* a frame at the second return */
	const uint8_t rest[] = { 0, 0, 0, 1, 0, 6, 0, 0, 0, 3, 0, 1, 5 };
	const uint8_t *at =
		hook_method(&c, "run", code, sizeof(code), rest, sizeof(rest), CLASS_LASTED);

	assert_bytes(at + 8, READ_CLOCK, 0x1a, 0x99, 0, 17, CALL_LEFT, RETURN, CALL_LEFT, RETURN,
		     CALL_LEFT, ATHROW);
	/* the frame has the parameter, which it named by not naming it, and the time */
	assert_bytes(at + 8 + 8 + 4 + 28 + 14 + 10, 0, 1, 0, 6, 0, 0, 0, 23, 0, 2, /* two frames */
		     255, 0, 26, 0, 2, 1, 4, 0, 0, 255, 0, 13, 0, 2, 0, 4, 0, 1, 7, 0, OWN + 16);
}

/* nop; tableswitch of 0 and 1; return; return */
static void the_numbers_of_a_switch_stay_at_a_multiple_of_four(void **state)
{
	static struct class c;
	const uint8_t code[] = { 0x1a, 0xaa, 0, 0, 0, 0, 0,  23, 0, 0, 0,  0,      0,
				 0,    0,    1, 0, 0, 0, 23, 0,  0, 0, 24, RETURN, RETURN };
	const uint8_t *at = hook_method(&c, "run", code, sizeof(code), nothing, 4,
					CLASS_ENTERED | CLASS_LASTED);

	assert_bytes(at + 8 + 16, 0x1a, 0xaa, 0, 0, 0, 0, 0, 23, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
		     23, 0, 0, 0, 37, CALL_LEFT, RETURN, CALL_LEFT, RETURN, CALL_LEFT, ATHROW);
}

/* return; tableswitch without a number, whose distance from a multiple of four changes; return */
static void a_switch_behind_a_return_gets_other_zeros(void **state)
{
	static struct class c;
	const uint8_t code[] = { RETURN, 0xaa, 0, 0, 0, 0, 0, 15, 0, 0, 0, 1, 0, 0, 0, 0, RETURN };
	const uint8_t *at = hook_method(&c, "run", code, sizeof(code), nothing, 4, CLASS_LASTED);

	/* the switch was at 1, and is at 22 */
	assert_bytes(at + 8, READ_CLOCK, CALL_LEFT, RETURN, 0xaa, 0, 0, 0, 0, 14, 0, 0, 0, 1, 0, 0,
		     0, 0, CALL_LEFT, RETURN);
}

/* goto the end; return; ..; return: a jump of 16 bits reaches 32767 bytes. */
static void a_jump_that_becomes_too_long_leaves_the_method(void **state)
{
	static struct class c;
	static uint8_t code[32765] = { 0xa7, 32764 >> 8, 32764 & 255, RETURN, [32764] = RETURN };

	hook_method(&c, "run", code, sizeof(code), nothing, 4, CLASS_ENTERED | CLASS_LASTED);
	assert_int_equal(c.method.hooked, CLASS_ENTERED);
}

static void a_method_that_the_compilers_take_stays_so(void **state)
{
	static struct class c;
	static uint8_t code[7993];

	hook_method(&c, "run", code, 7992, nothing, 4, CLASS_ENTERED);
	assert_int_equal(c.method.hooked, CLASS_ENTERED);
	hook_method(&c, "run", code, 7993, nothing, 4, CLASS_ENTERED);
	assert_int_equal(c.method.hooked, 0);
}

/* The line of the first instruction is that of the call at the begin, too. */
static void lines_and_variables_move(void **state)
{
	static struct class c;
	const uint8_t code[] = { 0, RETURN };
	const uint8_t rest[] = { 0, 0, 0, 2, 0, 7, 0,  0, 0, 10, 0, 2, 0, 0, 0, 5, 0, 1, 0,
				 6, 0, 8, 0, 0, 0, 12, 0, 1, 0,  1, 0, 1, 0, 3, 0, 4, 0, 0 };
	const uint8_t *at =
		hook_method(&c, "run", code, sizeof(code), rest, sizeof(rest), CLASS_ENTERED);

	assert_bytes(at + 8 + 10, 0, 0, 0, 2, 0, 7, 0, 0, 0, 10, 0, 2, 0, 0, 0, 5, 0, 9, 0, 6, 0, 8,
		     0, 0, 0, 12, 0, 1, 0, 9, 0, 1, 0, 3, 0, 4, 0, 0);
}

/* The parameters' classes become constants of the file, behind the others. */
static void frames_name_the_classes_of_the_parameters(void **state)
{
	static struct class c;
	const uint8_t code[] = { 0, RETURN };
	const uint8_t rest[] = { 0, 0, 0, 1, 0, 6, 0, 0, 0, 3, 0, 1, 1 };

	c.method = (struct class_method){ .name = "run", .len = 3 };
	struct output out = begin_class(&c, "run");
	/* (String, int[], long), of four variables */
	c.file[out.len - 5] = 9;
	end_class(&c, &out, code, sizeof(code), rest, sizeof(rest));
	c.file[out.len - 2 - sizeof(rest) - 4 - sizeof(code) - 1] = 4;
	const uint8_t *at = hook(&c, CLASS_LASTED);
	const uint32_t first = OWN + 22;

	assert_int_equal(c.out[9], OWN + 22 + 4);
	assert_bytes(at + 8 + 8 + 1 + 14 + 14 + 10 + 8, 0, 2, 255, 0, 9, 0, 4, 7, 0, first, 7, 0,
		     first + 2, 4, 4, 0, 0);
}

static void a_bad_file_is_refused(void **state)
{
	static struct class c;
	const uint8_t code[] = { RETURN };
	struct class_hook hooks = { "H", &c.method, 1 };

	hook_method(&c, "run", code, 1, nothing, 4, CLASS_LASTED);
	for (size_t len = 0; len < c.len - 2; len++) /* the class has no attributes */
		assert_int_equal(class_work(c.file, len) &&
					 class_hook(c.file, len, &hooks, c.work, c.out, ROOM),
				 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_at_the_begin_takes_eight_bytes),
		cmocka_unit_test(a_measured_method_calls_the_hook_before_its_end),
		cmocka_unit_test(both_calls_fit_into_one_method),
		cmocka_unit_test(a_constructor_has_no_handler),
		cmocka_unit_test(a_jump_leads_to_the_hook_before_its_target),
		cmocka_unit_test(the_numbers_of_a_switch_stay_at_a_multiple_of_four),
		cmocka_unit_test(a_switch_behind_a_return_gets_other_zeros),
		cmocka_unit_test(a_jump_that_becomes_too_long_leaves_the_method),
		cmocka_unit_test(a_method_that_the_compilers_take_stays_so),
		cmocka_unit_test(lines_and_variables_move),
		cmocka_unit_test(frames_name_the_classes_of_the_parameters),
		cmocka_unit_test(a_bad_file_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
