/* SPDX-License-Identifier: Apache-2.0 */
/* Names of routines in blobs of many routines, in the memory of a fake JVM. */
#include <string.h>

#include "fake_jvm.h"
#include "test.h"

#define BLOCK     (FAKE_HEAP + 1024) /* after the nmethod */
#define BLOB      (BLOCK + 16)
#define CODE      (BLOB + 128)
#define CODE_SIZE 0x200u
#define CALL_STUB (CODE + 0x40) /* to 0x80 */
#define OUTSIDE   0x7e0000000000ull

/* Memory of the C heap, which holds libjvm's descriptors. */
static u8 c_heap[4096];
static struct fake_jvm fake;
static struct mem_segment segments[2];
static struct hotspot *h;
static struct java_frame frame;
static u32 nr_descs;
static u64 list;

static void put(u32 at, u64 value)
{
	memcpy(c_heap + at, &value, sizeof(value));
}

/* Adds a StubCodeDesc at the head of the list: next, group, name, [index,] begin, end. */
static void add_desc(u64 name, u32 begin, u32 end, bool has_index)
{
	u32 at = 64 * nr_descs++;

	put(at, list);
	put(at + 16, name);
	put(at + 24, has_index ? nr_descs : fake_addr(begin));
	put(at + 32, has_index ? fake_addr(begin) : fake_addr(end));
	put(at + 40, fake_addr(end));
	list = OUTSIDE + at;
}

static void add_blob(const char *name)
{
	fake_put(&fake, BLOCK, 8, 8);
	fake_put(&fake, BLOCK + 8, 1, 1);
	fake_put(&fake, BLOB + 8, fake_text(&fake, name), 8);
	fake_put(&fake, BLOB + 16, 0x3f0, 4);
	fake_put(&fake, BLOB + 32, fake_addr(CODE), 8);
	fake_put(&fake, BLOB + 40, fake_addr(CODE + CODE_SIZE), 8);
	for (u8 i = 0; i < 8; i++)
		fake.bytes[fake.segmap + 8 + i] = i;
	fake_put(&fake, fake.call_stub, fake_addr(CALL_STUB + 0x20), 8);
}

static void begin(const char *blob)
{
	nr_descs = 0;
	list = 0;
	memset(c_heap, 0, sizeof(c_heap));
	fake_jvm_make(&fake);
	add_blob(blob);
}

static void read_jvm(void)
{
	fake_put(&fake, fake_alloc(&fake, 8), list, 8); /* StubCodeDesc::_list */
	segments[0] = fake.segment;
	segments[1] = (struct mem_segment){ OUTSIDE, c_heap, sizeof(c_heap) };
	assert_int_equal(hotspot_of_memory(mem_of_segments(segments, 2), FAKE_BASE, &h), 0);
}

static int tear_down(void **state)
{
	hotspot_free(h);
	h = NULL;
	return 0;
}

static void is_called(u32 at, bool is_leaf, const char *name)
{
	assert_int_equal(
		hotspot_name_pc(h, (struct code_pc){ .pc = fake_addr(at), .is_leaf = is_leaf },
				&frame, 1),
		1);
	assert_string_equal(frame.method, name);
	assert_int_equal(frame.kind, FRAME_STUB);
}

static void add_routines(bool has_index)
{
	add_desc(fake_text(&fake, "forward exception"), CODE, CALL_STUB, has_index);
	add_desc(fake_text(&fake, "call_stub"), CALL_STUB, CALL_STUB + 0x40, has_index);
	add_desc(fake_text(&fake, "outer"), CODE + 0x80, CODE + 0x180, has_index);
	add_desc(fake_text(&fake, "inner"), CODE + 0x100, CODE + 0x110, has_index);
}

static void routines_are_named(bool has_index)
{
	begin("StubRoutines (1)");
	add_routines(has_index);
	read_jvm();
	is_called(CALL_STUB, true, "call_stub");
	is_called(CALL_STUB + 0x20, false, "call_stub");
	is_called(CALL_STUB - 1, true, "forward exception");
	is_called(CODE + 0x80, true, "outer");
	assert_false(frame.is_blob);
}

static void a_routine_has_its_own_name(void **state)
{
	routines_are_named(false);
}

static void a_blob_of_routines_is_read_once(void **state)
{
	begin("StubRoutines (1)");
	add_routines(false);
	read_jvm();
	is_called(CALL_STUB, true, "call_stub");
	fake_put(&fake, BLOCK + 8, 0, 1);
	fake_put(&fake, BLOB + 16, 0, 4);
	is_called(CALL_STUB, true, "call_stub");
	is_called(CODE + 0x80, true, "outer");
}

static void a_routine_of_jdk_8_has_its_own_name(void **state)
{
	routines_are_named(true);
}

static void a_return_address_belongs_to_the_routine_that_calls(void **state)
{
	begin("StubRoutines (1)");
	add_routines(false);
	read_jvm();
	is_called(CALL_STUB, false, "forward exception");
}

static void of_nested_routines_the_smallest_counts(void **state)
{
	begin("StubRoutines (1)");
	add_routines(false);
	read_jvm();
	is_called(CODE + 0x108, true, "inner");
	is_called(CODE + 0x110, true, "outer");
}

static void code_of_no_routine_has_the_name_of_the_blob(void **state)
{
	begin("StubRoutines (1)");
	add_routines(false);
	read_jvm();
	is_called(CODE + 0x1f0, true, "StubRoutines (1)");
	assert_true(frame.is_blob);
}

static void a_list_without_the_call_stub_is_refused(void **state)
{
	begin("StubRoutines (1)");
	add_routines(false);
	fake_put(&fake, fake.call_stub, fake_addr(CODE + 0x1f0), 8);
	read_jvm();
	is_called(CODE + 0x80, true, "StubRoutines (1)");
	assert_true(frame.is_blob);
}

static void a_cyclic_list_is_refused(void **state)
{
	begin("StubRoutines (1)");
	add_routines(false);
	put(0, list);
	read_jvm();
	is_called(CODE + 0x80, true, "StubRoutines (1)");
}

static void a_list_with_an_invalid_name_is_refused(void **state)
{
	begin("StubRoutines (1)");
	add_routines(false);
	add_desc(fake_text(&fake, "\x01\x02"), CODE, CODE, false);
	read_jvm();
	is_called(CODE + 0x80, true, "StubRoutines (1)");
}

/* Puts a VtableStub before its code. */
static void add_vtable_stub(u32 code, u64 next, bool is_vtable)
{
	fake_put(&fake, code - 16, next, 8);
	fake_put(&fake, code - 8, 3, 2);
	fake_put(&fake, code - 6, 0x17, 2);
	fake_put(&fake, code - 4, 7, 2);
	fake_put(&fake, code - 2, is_vtable, 1);
	memset(fake.bytes + code, 0xcc, 0x40);
}

static void a_virtual_call_stub_is_recognised_by_its_header(void **state)
{
	begin("vtable chunks");
	add_vtable_stub(CODE + 0x10, 0, true);
	add_vtable_stub(CODE + 0x80, fake_addr(CODE), false);
	read_jvm();
	is_called(CODE + 0x10, true, "vtable stub");
	is_called(CODE + 0x47, true, "vtable stub");
	is_called(CODE + 0x80, true, "itable stub");
	is_called(CODE + 0x9f, true, "itable stub");
}

static void a_stub_without_a_header_is_named_for_both_kinds(void **state)
{
	begin("vtable chunks");
	add_vtable_stub(CODE + 0x10, OUTSIDE, true);
	read_jvm();
	is_called(CODE + 0x10, true, "vtable or itable stub");
	is_called(CODE, true, "vtable or itable stub");
}

static void an_adapter_is_named_by_its_role(void **state)
{
	begin("I2C/C2I adapters");
	read_jvm();
	is_called(CODE, true, "i2c/c2i adapter");
	assert_false(frame.is_blob);
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_routine_has_its_own_name),
		TEST(a_blob_of_routines_is_read_once),
		TEST(a_routine_of_jdk_8_has_its_own_name),
		TEST(a_return_address_belongs_to_the_routine_that_calls),
		TEST(of_nested_routines_the_smallest_counts),
		TEST(code_of_no_routine_has_the_name_of_the_blob),
		TEST(a_list_without_the_call_stub_is_refused),
		TEST(a_cyclic_list_is_refused),
		TEST(a_list_with_an_invalid_name_is_refused),
		TEST(a_virtual_call_stub_is_recognised_by_its_header),
		TEST(a_stub_without_a_header_is_named_for_both_kinds),
		TEST(an_adapter_is_named_by_its_role),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
