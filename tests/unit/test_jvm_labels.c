/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of labels, and the reader of ThreadLocals on the memory of a JVM that may be forged. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "hotspot_abi.h"
#include "jvm/labels/label_path.h"
#include "jvm/labels/shapes.h"
#include "jvm/labels/value_reader.h"

#define BASE   0x100000ull
#define BYTES  0x10000
#define CLASS  8 /* offset of the class; fields begin behind it */
#define LENGTH 12
#define DATA   16

/* Addresses of the objects. */
enum {
	JAVA_THREAD = 0x100,
	HANDLE = 0x200,
	THREAD = 0x300,
	MAP = 0x400,
	TABLE = 0x500,
	ENTRY = 0x800,
	LOCAL = 0x900,
	VALUE = 0xa00,
	BUCKETS = 0xb00,
	NODE = 0xd00,
	KEY = 0xe00,
	KEY_TEXT = 0xf00,
	STRING = 0x1000,
	TEXT = 0x1100,
	LAST = BYTES - 0x20, /* the last bytes that are in memory */
};

enum {
	CLASS_ENTRY = 71,
	CLASS_STRING,
	CLASS_MAP,
	CLASS_OTHER
};

struct world {
	u8 memory[BYTES];
	struct java_place place;
	struct java_value value;
};

static struct world world;

static void put(u32 at, u32 value)
{
	memcpy(&world.memory[at], &value, sizeof(value));
}

static void put_reference(u32 at, u32 object)
{
	put(at, object ? (u32)BASE + object : 0);
}

static void put_string(u32 at, u32 array, const char *text)
{
	put(at + CLASS, CLASS_STRING);
	put_reference(at + 12, array);
	put(array + LENGTH, (u32)strlen(text));
	memcpy(&world.memory[array + DATA], text, strlen(text));
}

/* A thread whose ThreadLocal with the hash code 5 has a String. */
static int begin(void **state)
{
	struct java_place *p = &world.place;
	u64 handle = BASE + HANDLE, thread = BASE + THREAD;

	memset(&world, 0, sizeof(world));
	*p = (struct java_place){
		.string_class = CLASS_STRING,
		.entry_class = CLASS_ENTRY,
		.virtual_thread = HOTSPOT_NO_FIELD,
		.locals = 12,
		.table = 12,
		.referent = 12,
		.value = 16,
		.hash = 12,
		.array_length = LENGTH,
		.array_references = DATA,
		.array_bytes = DATA,
		.text = 12,
		.coder = 16,
		.first_field = 12,
		.class_at = CLASS,
		.class_bytes = 4,
		.reference_bytes = 4,
	};
	p->labels[0].source = JAVA_THREAD_LOCAL;
	p->labels[0].hash = 5;
	p->labels[0].shapes[0] = (struct java_shape){ .class = CLASS_STRING, .kind = SHAPE_TEXT };
	p->labels[0].nr_shapes = 1;
	memcpy(&world.memory[JAVA_THREAD], &handle, sizeof(handle));
	memcpy(&world.memory[HANDLE], &thread, sizeof(thread));
	put_reference(THREAD + 12, MAP);
	put_reference(MAP + 12, TABLE);
	put(TABLE + LENGTH, 16);
	put_reference(TABLE + DATA + 4 * 5, ENTRY);
	put(ENTRY + CLASS, CLASS_ENTRY);
	put_reference(ENTRY + 12, LOCAL);
	put_reference(ENTRY + 16, STRING);
	put(LOCAL + 12, 5);
	put_string(STRING, TEXT, "/cart");
	return 0;
}

/* The kind of the label's value. */
static int read_value(void)
{
	const struct mem_segment all = { BASE, world.memory, BYTES };
	struct mem *m = mem_of_segments(&all, 1);

	value_read(m, &world.place, BASE + JAVA_THREAD, 0, &world.value);
	mem_free(m);
	return world.value.kind;
}

static void assert_text(const char *text)
{
	assert_int_equal(read_value(), JAVA_LATIN1);
	assert_int_equal(world.value.bytes, strlen(text));
	assert_memory_equal(world.value.text, text, strlen(text));
}

static void a_string_is_read(void **state)
{
	assert_text("/cart");
}

static void a_string_at_the_end_of_the_memory_is_read(void **state)
{
	put_string(STRING, LAST, "/last");
	assert_text("/last");
}

static void a_table_of_no_possible_length_has_no_value(void **state)
{
	const u32 lengths[] = { 0, 3, 1u << 21, 1u << 31, ~0u };

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		put(TABLE + LENGTH, lengths[i]);
		assert_int_equal(read_value(), JAVA_NONE);
	}
}

static void references_to_nowhere_have_no_value(void **state)
{
	const u32 at[] = { THREAD + 12, MAP + 12, TABLE + DATA + 4 * 5, ENTRY + 12 };

	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		begin(state);
		put(at[i], 0xfffffff0);
		assert_int_equal(read_value(), JAVA_NONE);
	}
	begin(state);
	put(ENTRY + 16, 0xfffffff0);
	assert_int_equal(read_value(), JAVA_UNREADABLE);
	begin(state);
	put(STRING + 12, 0xfffffff0);
	assert_in_set(read_value(), ((const uintmax_t[]){ JAVA_LATIN1, JAVA_UNREADABLE }), 2);
	assert_int_equal(world.value.bytes, 0);
}

static void a_text_that_claims_to_be_huge_is_cut(void **state)
{
	put(TEXT + LENGTH, 0x7fffffff);
	assert_int_equal(read_value(), JAVA_LATIN1);
	assert_int_equal(world.value.bytes, 0xffff);
}

static void another_class_is_reported(void **state)
{
	u64 class;

	put(STRING + CLASS, CLASS_OTHER);
	assert_int_equal(read_value(), JAVA_OTHER_CLASS);
	memcpy(&class, world.value.text, sizeof(class));
	assert_int_equal(class, CLASS_OTHER);
}

static void a_field_that_leads_to_its_own_object_ends(void **state)
{
	struct java_label *l = &world.place.labels[0];

	l->shapes[l->nr_shapes++] =
		(struct java_shape){ .class = CLASS_OTHER, .kind = SHAPE_FIELD, .field = 12 };
	put(VALUE + CLASS, CLASS_OTHER);
	put_reference(VALUE + 12, VALUE);
	put_reference(ENTRY + 16, VALUE);
	assert_int_equal(read_value(), JAVA_UNREADABLE);
}

/* The value is a HashMap with the key "route" in bucket 1 of 2. */
static void make_map(void)
{
	static const struct path_part part = { "route", true };
	const struct label_way way = { &part, 1, false };
	struct java_label *l = &world.place.labels[0];
	auto_str struct str why = { 0 };

	assert_int_equal(shape_keys(&way, l, &why), 0);
	l->shapes[0].step = 1;
	l->shapes[1] = (struct java_shape){
		.class = CLASS_MAP,
		.kind = SHAPE_MAP,
		.next = 1,
		.field = 12,
		.nr_keys = 1,
		.node_hash = 12,
		.node_key = 16,
		.node_value = 20,
		.node_next = 24,
	};
	l->nr_shapes = 2;
	put_reference(ENTRY + 16, VALUE);
	put(VALUE + CLASS, CLASS_MAP);
	put_reference(VALUE + 12, BUCKETS);
	put(BUCKETS + LENGTH, 2);
	put_reference(BUCKETS + DATA + 4 * (l->keys[0].hash & 1), NODE);
	put(NODE + 12, l->keys[0].hash);
	put_reference(NODE + 16, KEY);
	put_reference(NODE + 20, STRING);
	put_string(KEY, KEY_TEXT, "route");
}

static void a_map_is_looked_up(void **state)
{
	make_map();
	assert_text("/cart");
	put_string(KEY, KEY_TEXT, "other"); /* of the same hash code */
	assert_int_equal(read_value(), JAVA_NONE);
}

static void a_bucket_that_is_a_circle_ends(void **state)
{
	make_map();
	put_string(KEY, KEY_TEXT, "other");
	put_reference(NODE + 24, NODE);
	assert_int_equal(read_value(), JAVA_UNREADABLE);
}

static void a_map_of_no_possible_length_is_unreadable(void **state)
{
	make_map();
	put(BUCKETS + LENGTH, 3);
	assert_int_equal(read_value(), JAVA_UNREADABLE);
}

static void keys_have_the_hash_that_java_gives_them(void **state)
{
	make_map();
	u32 hash = 108704329; /* "route".hashCode() */
	assert_int_equal(world.place.labels[0].keys[0].hash, hash ^ hash >> 16);
}

static void paths_are_cut_at_dots_and_brackets(void **state)
{
	static const char text[] = "a.B.C.map[x.y z].name";
	struct label_path path;

	assert_int_equal(label_path_parse(text, strlen(text), &path), 0);
	assert_int_equal(path.nr_parts, 6);
	assert_int_equal(path.most, 3);
	assert_string_equal(path.parts[4].text, "x.y z");
	assert_true(path.parts[4].is_key);
	assert_string_equal(path.parts[5].text, "name");
}

static void presets_have_paths_whose_class_is_known(void **state)
{
	struct thread_local_spec specs[THREAD_LOCAL_SPECS];
	auto_str struct str why = { 0 };
	struct label_path path;
	u32 nr;

	assert_int_equal(thread_local_parse("otel", specs, &nr, &why), 0);
	assert_int_equal(nr, 3);
	for (u32 i = 0; i < nr; i++)
		for (u32 k = 0; k < 2; k++) {
			assert_int_equal(label_path_of(&specs[i], k, &path), 0);
			assert_int_equal(path.least, path.most);
		}
	assert_int_equal(label_path_of(&specs[0], 2, &path), -EINVAL);
	assert_int_equal(thread_local_parse("user=mdc:user.id", specs, &nr, &why), 0);
	assert_string_equal(specs[0].name, "user");
	assert_int_equal(label_path_of(&specs[0], 1, &path), 0);
	assert_string_equal(path.parts[path.nr_parts - 1].text, "user.id");
}

#define IN_WORLD(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(a_string_is_read),
		IN_WORLD(a_string_at_the_end_of_the_memory_is_read),
		IN_WORLD(a_table_of_no_possible_length_has_no_value),
		IN_WORLD(references_to_nowhere_have_no_value),
		IN_WORLD(a_text_that_claims_to_be_huge_is_cut),
		IN_WORLD(another_class_is_reported),
		IN_WORLD(a_field_that_leads_to_its_own_object_ends),
		IN_WORLD(a_map_is_looked_up),
		IN_WORLD(a_bucket_that_is_a_circle_ends),
		IN_WORLD(a_map_of_no_possible_length_is_unreadable),
		IN_WORLD(keys_have_the_hash_that_java_gives_them),
		IN_WORLD(paths_are_cut_at_dots_and_brackets),
		IN_WORLD(presets_have_paths_whose_class_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
