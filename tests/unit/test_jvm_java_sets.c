/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of ConcurrentHashMap as a JVM has them, and as a hostile process forges them. */
#include "test.h"

#include <string.h>

#include "base/alloc.h"
#include "jvm/memory/java_objects.h"
#include "proc/mem.h"

#define BASE  0x100000u
#define NODE  32 /* bytes of a node: hash, key, next, first or nextTable */
#define SLOTS 64

/* The process: a table, and room for nodes. References are addresses of 8 bytes. */
static u64 table[2 + SLOTS]; /* length at 8, references from 16 on */
static u64 next_table[2 + 2 * SLOTS];
static u64 nodes[1024][NODE / 8];

#define TABLE_AT BASE
#define NEXT_AT  (BASE + 0x10000)
#define NODES_AT (BASE + 0x20000)

static const struct set_fields fields = { .map = 8,
					  .table = 8,
					  .node_hash = 0,
					  .node_key = 8,
					  .node_next = 16,
					  .tree_first = 24,
					  .next_table = 24 };
static const struct java_objects objects = { .reference_bytes = 8,
					     .array_length = 8,
					     .array_references = 16 };

static u64 node_at(size_t i)
{
	return NODES_AT + i * NODE;
}

static void set_node(size_t i, s32 hash, u64 key, u64 next, u64 other)
{
	nodes[i][0] = (u32)hash;
	nodes[i][1] = key;
	nodes[i][2] = next;
	nodes[i][3] = other;
}

static int clear(void **state)
{
	memset(table, 0, sizeof(table));
	memset(next_table, 0, sizeof(next_table));
	memset(nodes, 0, sizeof(nodes));
	return 0;
}

/* Reads all slots; *nr_reads gets the number of reads that it took. */
static set_key_list read_all(u64 *nr_left_out, u64 *nr_reads)
{
	const struct mem_segment segments[] = { { TABLE_AT, table, sizeof(table) },
						{ NEXT_AT, next_table, sizeof(next_table) },
						{ NODES_AT, nodes, sizeof(nodes) } };
	struct vm_memory j = { .mem = mem_of_segments(segments, ARRAY_SIZE(segments)) };
	struct set_slot slots[SLOTS];
	set_key_list keys = { 0 };

	for (u32 i = 0; i < SLOTS; i++)
		slots[i] = (struct set_slot){ TABLE_AT, i, SLOTS, 7 };
	*nr_left_out = 0;
	assert_int_equal(java_slots_read(&j, &objects, &fields, slots, SLOTS, &keys, nr_left_out),
			 0);
	*nr_reads = mem_counts(j.mem).calls;
	mem_free(j.mem);
	return keys;
}

static bool has_key(const set_key_list *keys, u64 object)
{
	size_t nr = 0;

	vec_each(k, keys)
		nr += k->object == object && k->owner == 7;
	return nr == 1;
}

static void bins_trees_and_moved_bins_are_read(void **state)
{
	u64 left_out, nr_reads;

	table[2 + 3] = node_at(0); /* a bin of two nodes */
	set_node(0, 5, 0x1000, node_at(1), 0);
	set_node(1, 6, 0x1008, 0, 0);
	table[2 + 9] = node_at(2); /* a tree, whose first node begins a list */
	set_node(2, -2, 0, 0, node_at(3));
	set_node(3, 7, 0x1010, node_at(4), 0);
	set_node(4, 8, 0x1018, 0, 0);
	table[2 + 11] = node_at(5); /* moved to two bins of the next table */
	set_node(5, -1, 0, 0, NEXT_AT);
	next_table[2 + 11] = node_at(6);
	next_table[2 + 11 + SLOTS] = node_at(7);
	set_node(6, 9, 0x1020, 0, 0);
	set_node(7, 10, 0x1028, 0, 0);
	set_key_list keys = read_all(&left_out, &nr_reads);
	assert_int_equal(keys.nr, 6);
	for (u64 object = 0x1000; object <= 0x1028; object += 8)
		assert_true(has_key(&keys, object));
	assert_int_equal(left_out, 0);
	vec_fini(&keys);
}

static void cycles_end_and_are_counted(void **state)
{
	u64 left_out, nr_reads;

	for (size_t i = 0; i < SLOTS; i++) { /* each bin is a ring of two nodes */
		table[2 + i] = node_at(2 * i);
		set_node(2 * i, 1, 0x1000, node_at(2 * i + 1), 0);
		set_node(2 * i + 1, 1, 0x1008, node_at(2 * i), 0);
	}
	set_key_list keys = read_all(&left_out, &nr_reads);
	assert_true(keys.nr <= 10 * SLOTS);
	assert_true(left_out > 0);
	assert_true(nr_reads <= 20 * SLOTS);
	vec_fini(&keys);
}

static void trees_of_trees_and_moves_to_themselves_end(void **state)
{
	u64 left_out, nr_reads;

	for (size_t i = 0; i < SLOTS; i++) {
		table[2 + i] = node_at(i);
		set_node(i, i % 2 ? -2 : -1, 0, node_at(i), i % 2 ? node_at(i) : TABLE_AT);
	}
	set_key_list keys = read_all(&left_out, &nr_reads);
	assert_int_equal(keys.nr, 0);
	assert_true(nr_reads <= 20 * SLOTS);
	vec_fini(&keys);
}

static void wild_references_are_left(void **state)
{
	u64 left_out, nr_reads;

	table[2] = 8;
	table[3] = ~0ull;
	table[4] = node_at(1024);
	table[5] = node_at(0);
	set_node(0, 1, 0x1000, ~7ull, 0);
	table[6] = node_at(1);
	set_node(1, -1, 0, 0, ~0ull - 100);
	set_key_list keys = read_all(&left_out, &nr_reads);
	assert_true(has_key(&keys, 0x1000));
	vec_fini(&keys);
}

static void a_length_must_be_a_power_of_two(void **state)
{
	static const u64 lengths[] = { 0, 3, 1u << 31, 0xffffffff };
	u64 view[4] = { 0, BASE + 0x1000 }, map[4] = { 0, TABLE_AT };
	const struct mem_segment segments[] = { { BASE + 0x2000, view, sizeof(view) },
						{ BASE + 0x1000, map, sizeof(map) },
						{ TABLE_AT, table, sizeof(table) } };
	struct vm_memory j = { .mem = mem_of_segments(segments, ARRAY_SIZE(segments)) };
	const u64 set = BASE + 0x2000;
	struct java_table out;

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		table[1] = lengths[i];
		assert_int_equal(java_set_tables(&j, &objects, &fields, &set, 1, &out), 0);
		assert_int_equal(out.at, 0);
	}
	table[1] = SLOTS;
	assert_int_equal(java_set_tables(&j, &objects, &fields, &set, 1, &out), 0);
	assert_int_equal(out.at, TABLE_AT);
	assert_int_equal(out.length, SLOTS);
	mem_free(j.mem);
}

static void the_chosen_ones_stand_for_all(void **state)
{
	double sum = 0;

	for (int round = 0; round < 1000; round++) {
		set_key_list keys = { 0 };
		for (u64 i = 0; i < 1000; i++)
			vec_push(&keys, (struct set_key){ i, 0 });
		double each = set_keys_thin(&keys, 64);
		assert_int_equal(keys.nr, 64);
		vec_each(k, &keys)
			sum += k->object < 100 ? each : 0;
		vec_fini(&keys);
	}
	assert_true(sum / 1000 > 97 && sum / 1000 < 103);
	for (u64 total = 0; total < 200; total++) {
		struct slot_choice c = slots_choose(total, 64);
		for (u32 i = 0; i < c.nr; i++)
			assert_true(slots_chosen(&c, i) < total);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(bins_trees_and_moved_bins_are_read, clear),
		cmocka_unit_test_setup(cycles_end_and_are_counted, clear),
		cmocka_unit_test_setup(trees_of_trees_and_moves_to_themselves_end, clear),
		cmocka_unit_test_setup(wild_references_are_left, clear),
		cmocka_unit_test_setup(a_length_must_be_a_power_of_two, clear),
		cmocka_unit_test(the_chosen_ones_stand_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
