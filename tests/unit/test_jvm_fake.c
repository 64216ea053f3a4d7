/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of JVMs on memory that is wrong, or changes during the read. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "fake_jvm.h"
#include "test.h"

#define CALL_PC fake_addr(FAKE_CODE + FAKE_CALL)

static struct fake_jvm fake;
static struct hotspot *h;
static struct java_frame frames[8];

static int set_up(void **state)
{
	fake_jvm_make(&fake);
	return fake_jvm_open(&fake, &h);
}

static int tear_down(void **state)
{
	hotspot_free(h);
	h = NULL;
	return 0;
}

static int name_pc(struct hotspot *h, u64 pc, u32 compile_id, bool is_leaf, struct java_frame out[],
		   int max)
{
	return hotspot_name_pc(h, (struct code_pc){ pc, 0, compile_id, is_leaf }, out, max);
}

static void reopen(int expected)
{
	hotspot_free(h);
	h = NULL;
	assert_int_equal(fake_jvm_open(&fake, &h), expected);
}

/* Sets a field of the nmethod, at an offset of fake_jvm.h. */
static void poke_nmethod(u32 offset, u64 value, u32 width)
{
	fake_put(&fake, FAKE_BLOB + offset, value, width);
}

static void a_return_address_gets_its_inlined_frames(void **state)
{
	assert_int_equal(name_pc(h, CALL_PC, FAKE_COMPILE_ID, false, frames, 8), 2);
	assert_string_equal(frames[0].class_name, "pkg.Leaf");
	assert_string_equal(frames[0].method, "leaf");
	assert_int_equal(frames[0].kind, FRAME_INLINED);
	assert_string_equal(frames[1].class_name, "pkg.Root");
	assert_string_equal(frames[1].signature, "(I)V");
	assert_string_equal(frames[1].file, "Fake.java");
	assert_int_equal(frames[1].line, 7);
	assert_int_equal(frames[1].kind, FRAME_C2);
	assert_false(frames[1].is_approximate || frames[1].is_stale);
}

static void a_leaf_between_descriptors_is_approximate(void **state)
{
	assert_int_equal(name_pc(h, CALL_PC - 3, 0, true, frames, 8), 2);
	assert_true(frames[0].is_approximate);
	assert_true(frames[1].is_approximate);
}

/* One descriptor and one oop map: the nmethod has no descriptor between safepoints. */
static void a_leaf_is_exact_where_there_is_more_debug_information_than_safepoints(void **state)
{
	u32 maps = fake_alloc(&fake, 8);

	poke_nmethod(48, fake_addr(maps), 8);
	assert_int_equal(name_pc(h, CALL_PC - 3, 0, true, frames, 8), 2);
	assert_false(frames[0].is_approximate || frames[1].is_approximate);
	assert_int_equal(name_pc(h, CALL_PC - 3, 0, false, frames, 8), 2);
	assert_true(frames[0].is_approximate);
	fake_put(&fake, maps, 1, 4);
	assert_int_equal(name_pc(h, CALL_PC - 3, 0, true, frames, 8), 2);
	assert_true(frames[0].is_approximate);
}

static void a_leaf_in_the_prologue_is_the_physical_method(void **state)
{
	assert_int_equal(name_pc(h, fake_addr(FAKE_CODE), 0, true, frames, 8), 1);
	assert_string_equal(frames[0].method, "root");
	assert_false(frames[0].is_approximate);
}

static void a_short_buffer_keeps_the_physical_method(void **state)
{
	assert_int_equal(name_pc(h, CALL_PC, 0, false, frames, 1), 1);
	assert_string_equal(frames[0].method, "root");
}

static void replaced_code_keeps_the_name_it_had(void **state)
{
	assert_int_equal(name_pc(h, CALL_PC, FAKE_COMPILE_ID, false, frames, 8), 2);
	poke_nmethod(64, FAKE_COMPILE_ID + 1, 4);
	poke_nmethod(56, fake_addr(fake_method(&fake, "pkg/Other", "other")), 8);
	assert_int_equal(name_pc(h, CALL_PC, FAKE_COMPILE_ID, false, frames, 8), 2);
	assert_string_equal(frames[1].method, "root");
	assert_false(frames[1].is_stale);
}

static void code_replaced_before_it_was_named_is_stale(void **state)
{
	assert_int_equal(name_pc(h, CALL_PC, FAKE_COMPILE_ID - 1, false, frames, 8), 2);
	assert_true(frames[0].is_stale);
	assert_true(frames[1].is_stale);
}

static void freed_code_has_no_name(void **state)
{
	struct code_heaps heaps = h->heaps;
	u32 segmap = (u32)(heaps.at[0].segmap - FAKE_BASE);

	memset(fake.bytes + segmap, 0xff, 8);
	assert_int_equal(name_pc(h, CALL_PC, 0, false, frames, 8), -ENOENT);
}

static void an_interpreted_method_gets_its_line(void **state)
{
	u64 bcp;

	memcpy(&bcp, fake.bytes + fake.method + 8, 8);
	assert_int_equal(hotspot_name_method(h, fake_addr(fake.method), bcp + 48, 0, frames), 0);
	assert_string_equal(frames[0].method, "root");
	assert_int_equal(frames[0].bci, 0);
	assert_int_equal(frames[0].line, 7);
	assert_int_equal(frames[0].kind, FRAME_INTERPRETED);
	assert_false(frames[0].is_stale);
}

static void a_bytecode_index_in_the_frame_is_accepted(void **state)
{
	assert_int_equal(hotspot_name_method(h, fake_addr(fake.method), 1, 0, frames), 0);
	assert_int_equal(frames[0].bci, 1);
	assert_false(frames[0].is_stale);
	assert_int_equal(hotspot_name_method(h, fake_addr(fake.method), 0xffff, 0, frames), 0);
	assert_true(frames[0].is_stale);
}

static void a_bytecode_pointer_outside_of_the_method_is_stale(void **state)
{
	assert_int_equal(hotspot_name_method(h, fake_addr(fake.method), 1 << 20, 0, frames), 0);
	assert_true(frames[0].is_stale);
	assert_int_equal(frames[0].line, 0);
}

static void a_reused_method_is_named_anew(void **state)
{
	u64 other = fake_method(&fake, "pkg/Other", "other"), const_method;

	assert_int_equal(hotspot_name_method(h, fake_addr(fake.method), 0, 0, frames), 0);
	memcpy(&const_method, fake.bytes + other + 8, 8);
	fake_put(&fake, fake.method + 8, const_method, 8);
	assert_int_equal(hotspot_name_method(h, fake_addr(fake.method), 0, 0, frames), 0);
	assert_string_equal(frames[0].method, "other");
}

/* Names the method for a sample taken when `nr_unloaded` classes had been unloaded. */
static int name_at(u64 nr_unloaded)
{
	return hotspot_name_method(h, fake_addr(fake.method), 0, nr_unloaded + 1, frames);
}

static u64 klass(void)
{
	u64 const_method, constants, holder;

	memcpy(&const_method, fake.bytes + fake.method + 8, 8);
	memcpy(&constants, fake.bytes + (const_method - FAKE_BASE) + 8, 8);
	memcpy(&holder, fake.bytes + (constants - FAKE_BASE) + 24, 8);
	return holder;
}

/* Replaces the class by another one of the same shape. */
static void replace_class(const char *name)
{
	fake_put(&fake, (u32)(klass() - FAKE_BASE) + 8, fake_symbol(&fake, name), 8);
}

static void set_unloads(u64 nr)
{
	fake_put(&fake, fake.unloads, nr, 8);
}

static void a_method_sampled_before_classes_were_unloaded_is_stale(void **state)
{
	set_unloads(23);
	assert_int_equal(name_at(22), -ESTALE);
	assert_int_equal(name_at(23), 0);
	assert_string_equal(frames[0].class_name, "pkg.Root");
	assert_int_equal(name_at(22), -ESTALE);
}

static void a_known_method_keeps_its_earlier_name(void **state)
{
	set_unloads(22);
	assert_int_equal(name_at(22), 0);
	replace_class("pkg/Toor");
	set_unloads(23);
	assert_int_equal(name_at(22), 0);
	assert_string_equal(frames[0].class_name, "pkg.Root");
	assert_int_equal(name_at(23), 0);
	assert_string_equal(frames[0].class_name, "pkg.Toor");
	assert_int_equal(name_at(22), 0); /* of a late sample */
	assert_string_equal(frames[0].class_name, "pkg.Root");
	assert_int_equal(name_at(21), -ESTALE);
	assert_int_equal(name_at(23), 0);
	assert_string_equal(frames[0].class_name, "pkg.Toor");
}

static void a_class_that_stays_has_its_name_across_unloads(void **state)
{
	set_unloads(22);
	assert_int_equal(name_at(22), 0);
	set_unloads(29);
	assert_int_equal(name_at(29), 0);
	assert_int_equal(name_at(25), 0);
	assert_string_equal(frames[0].class_name, "pkg.Root");
	assert_int_equal(name_at(21), -ESTALE);
}

/* Names compiled code of a sample taken when `nr_unloaded` classes had been unloaded. */
static void name_code_at(u64 nr_unloaded, u64 pc)
{
	struct code_pc at = { pc, nr_unloaded + 1, FAKE_COMPILE_ID, true };

	assert_int_equal(hotspot_name_pc(h, at, frames, 8), 2);
}

static void compiled_code_is_named_by_its_time(void **state)
{
	set_unloads(22);
	name_code_at(22, CALL_PC);
	replace_class("pkg/Toor");
	set_unloads(23);
	name_code_at(22, CALL_PC - 1);
	assert_string_equal(frames[1].class_name, "pkg.Root");
	name_code_at(23, CALL_PC - 2);
	assert_string_equal(frames[1].class_name, "pkg.Toor");
	name_code_at(21, CALL_PC - 3); /* before the first look: the present name is all there is */
	assert_string_equal(frames[1].class_name, "pkg.Toor");
}

static u64 nr_reads(void)
{
	struct hotspot_info info;

	hotspot_info(h, &info);
	return info.nr_reads;
}

static void known_methods_are_not_read_for_each_pc_of_their_code(void **state)
{
	set_unloads(22);
	name_code_at(22, CALL_PC);
	u64 before = nr_reads();
	name_code_at(22, CALL_PC - 1);
	u64 between = nr_reads();
	name_pc(h, CALL_PC - 2, FAKE_COMPILE_ID, true, frames, 8);
	assert_true(between - before < nr_reads() - between);
}

static void a_class_is_named_by_its_time(void **state)
{
	const char *name;

	set_unloads(22);
	assert_int_equal(hotspot_name_class(h, klass(), 22, &name), -ESTALE);
	assert_int_equal(hotspot_name_class(h, klass(), 23, &name), 0);
	assert_string_equal(name, "pkg.Root");
	set_unloads(25);
	assert_int_equal(hotspot_name_class(h, klass(), 26, &name), 0);
	replace_class("pkg/Toor");
	set_unloads(29);
	assert_int_equal(hotspot_name_class(h, klass(), 25, &name), 0);
	assert_string_equal(name, "pkg.Root");
	assert_int_equal(hotspot_name_class(h, klass(), 29, &name), -ESTALE);
	assert_int_equal(hotspot_name_class(h, klass(), 30, &name), 0);
	assert_string_equal(name, "pkg.Toor");
	assert_int_equal(hotspot_name_class(h, klass(), 0, &name), 0);
	assert_int_equal(hotspot_name_class(h, klass(), 26, &name), -ESTALE);
}

/* A sample without the count, for example of a JVM that keeps none. */
static void without_a_count_the_current_method_is_named(void **state)
{
	fake_put(&fake, fake.unloads - 28, 'x', 1); /* in the counter's name */
	reopen(0);
	assert_int_equal(hotspot_name_method(h, fake_addr(fake.method), 0, 0, frames), 0);
	replace_class("pkg/Toor");
	assert_int_equal(hotspot_name_method(h, fake_addr(fake.method), 0, 0, frames), 0);
	assert_string_equal(frames[0].class_name, "pkg.Toor");
}

static void a_pointer_to_no_method_has_no_name(void **state)
{
	assert_int_equal(hotspot_name_method(h, 0, 0, 0, frames), -EBADMSG);
	assert_int_equal(hotspot_name_method(h, fake_addr(fake.method) + 4, 0, 0, frames),
			 -EBADMSG);
	assert_int_equal(hotspot_name_method(h, 0x1000, 0, 0, frames), -EFAULT);
	/* the memory now holds other data */
	memset(fake.bytes + fake.method, 0x41, 16);
	assert_true(hotspot_name_method(h, fake_addr(fake.method), 0, 0, frames) < 0);
}

static void damaged_debug_information_leaves_the_physical_method(void **state)
{
	poke_nmethod(80, 0x7fffffff, 4); /* end of the descriptors */
	assert_int_equal(name_pc(h, CALL_PC, 0, false, frames, 8), 1);
	assert_string_equal(frames[0].method, "root");
	assert_true(frames[0].is_approximate);
}

static void cyclic_scopes_end(void **state)
{
	memcpy(fake.bytes + FAKE_BLOB + 0x2c0 + 4, "\4\2\1", 3);
	assert_int_equal(name_pc(h, CALL_PC, 0, false, frames, 8), 1);
}

static void a_starting_jvm_must_be_tried_again(void **state)
{
	u64 array, heaps_var;

	memcpy(&heaps_var, fake.bytes + fake.tables + 40, 8);
	memcpy(&array, fake.bytes + (heaps_var - FAKE_BASE), 8);
	fake_put(&fake, (u32)(heaps_var - FAKE_BASE), 0, 8);
	reopen(-EAGAIN);
	fake_put(&fake, (u32)(heaps_var - FAKE_BASE), array, 8);
	reopen(0);
}

/* The offsets of the code heap's fields, in the order of fake_heaps. */
static u32 heap_off(void)
{
	u64 at = fake.tables + 40;

	for (int i = 0; i < 4; i++) { /* CodeCache::_heaps: the array's variable, data, first
				       * element */
		u32 field = i == 2 ? 8 : 0;
		memcpy(&at, fake.bytes + (i ? at - FAKE_BASE : at) + field, 8);
	}
	return (u32)(at - FAKE_BASE);
}

static void a_heap_beyond_hotspots_limits_is_refused(void **state)
{
	u32 heap = heap_off();

	fake_put(&fake, heap + 128, 3, 4);
	reopen(-EAGAIN);
	fake_put(&fake, heap + 128, 11, 4);
	reopen(-EAGAIN);
	fake_put(&fake, heap + 128, 4, 4);
	reopen(0);
	fake_put(&fake, heap + 8, fake_addr(FAKE_HEAP) + (2ull << 30), 8);
	reopen(0);
	fake_put(&fake, heap + 8, fake_addr(FAKE_HEAP) + (2ull << 30) + 4096, 8);
	reopen(-EAGAIN);
}

static int count_blob(void *ctx, const struct blob *b)
{
	++*(int *)ctx;
	return 0;
}

static void an_interrupted_walk_continues(void **state)
{
	struct code_walk walk = { 0 };
	int nr = 0;

	assert_int_equal(code_heaps_walk(&h->jvm, &h->heaps, &walk, count_blob, &nr), -ETIMEDOUT);
	assert_int_equal(code_heaps_walk(&h->jvm, &h->heaps, &walk, count_blob, &nr), 0);
	assert_int_equal(nr, 1);
}

static bool has_gap(const char *wanted)
{
	const char *what, *why;
	bool found = false;

	for (size_t i = 0; hotspot_limitation(h, i, &what, &why); i++)
		found |= !strcmp(what, wanted);
	return found;
}

/* Each of its 128 M segments begins a block: reading all headers takes many seconds. */
static void an_endless_heap_does_not_block(void **state)
{
	const u64 size = 2ull << 30, start = FAKE_BASE + (1ull << 32), map = start + size;
	void *zeros =
		mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	const struct mem_segment segments[] = { fake.segment,
						{ start, zeros, size },
						{ map, zeros, size } };
	const u64 fields[] = { start, start + size, start, start + size };
	u32 heap = heap_off();

	assert_ptr_not_equal(zeros, MAP_FAILED);
	memcpy(fake.bytes + heap, fields, sizeof(fields));
	fake_put(&fake, heap + 64 + 16, map, 8);
	fake_put(&fake, heap + 128, 4, 4);
	hotspot_free(h);
	h = NULL;
	assert_int_equal(hotspot_of_memory(mem_of_segments(segments, 3), FAKE_BASE, &h), 0);
	assert_true(has_gap("some stubs"));
	u64 done = h->walk.segment;
	h->next_walk_ns = 0;
	assert_int_equal(hotspot_refresh(h), 0);
	assert_true(h->walk.segment > done);
	hotspot_free(h);
	h = NULL;
	munmap(zeros, size);
}

static void an_endless_table_is_cut(void **state)
{
	struct hotspot_info info;

	/* The entry after the last one has an invalid name pointer. */
	for (u32 at = fake.tables; at < FAKE_HEAP; at += 48) {
		u64 name;
		memcpy(&name, fake.bytes + at, 8);
		if (name)
			continue;
		fake_put(&fake, at, 0x1234, 8);
		break;
	}
	reopen(0);
	hotspot_info(h, &info);
	assert_true(info.tables_are_cut);
	assert_int_equal(name_pc(h, CALL_PC, 0, false, frames, 8), 2);
}

static void a_missing_field_costs_one_feature(void **state)
{
	const char *what, *why;
	bool found = false;
	u64 text;

	for (u32 at = fake.tables;; at += 48) {
		memcpy(&text, fake.bytes + at + 8, 8);
		assert_true(text);
		if (!strcmp((char *)fake.bytes + (text - FAKE_BASE), "_scopes_pcs_offset"))
			break;
	}
	fake.bytes[text - FAKE_BASE] = 'x';
	reopen(0);
	for (size_t i = 0; hotspot_limitation(h, i, &what, &why); i++)
		found |= !strcmp(what, "inlined frames") &&
			 !strcmp(why, "nmethod::_scopes_pcs_offset is not exported");
	assert_true(found);
	assert_int_equal(name_pc(h, CALL_PC, 0, false, frames, 8), 1);
	assert_string_equal(frames[0].method, "root");
}

/* Makes one change at a time: most reads then still find a JVM. */
static void *keep_changing(void *stop)
{
	u8 *from = fake.bytes + 256;

	for (u32 at = 0; !__atomic_load_n((bool *)stop, __ATOMIC_RELAXED);
	     at = (at + 4099) % (FAKE_BLOB + 0x400 - 256)) {
		u8 was = from[at];

		__atomic_store_n(from + at, (u8)(was ^ (1 + at % 255)), __ATOMIC_RELAXED);
		sched_yield();
		__atomic_store_n(from + at, was, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void tables_that_change_while_they_are_read_do_no_harm(void **state)
{
	bool stop = false;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, keep_changing, &stop), 0);
	for (int i = 0; i < 300; i++) {
		hotspot_free(h);
		h = NULL;
		if (fake_jvm_open(&fake, &h))
			continue;
		int nr = name_pc(h, CALL_PC, FAKE_COMPILE_ID, i & 1, frames, 8);
		assert_true(nr <= 8);
		for (int frame = 0; frame < nr; frame++)
			assert_non_null(frames[frame].method);
		hotspot_refresh(h);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	reopen(0);
	assert_int_equal(name_pc(h, CALL_PC, FAKE_COMPILE_ID, false, frames, 8), 2);
}

static void memory_without_tables_is_no_jvm(void **state)
{
	memset(fake.bytes + fake.strings, 'x', 100);
	reopen(-ENOEXEC);
	memset(fake.bytes, 0, 64);
	reopen(-ENOEXEC);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_return_address_gets_its_inlined_frames),
		TEST(a_leaf_between_descriptors_is_approximate),
		TEST(a_leaf_is_exact_where_there_is_more_debug_information_than_safepoints),
		TEST(a_leaf_in_the_prologue_is_the_physical_method),
		TEST(a_short_buffer_keeps_the_physical_method),
		TEST(replaced_code_keeps_the_name_it_had),
		TEST(code_replaced_before_it_was_named_is_stale),
		TEST(freed_code_has_no_name),
		TEST(an_interpreted_method_gets_its_line),
		TEST(a_bytecode_index_in_the_frame_is_accepted),
		TEST(a_bytecode_pointer_outside_of_the_method_is_stale),
		TEST(a_method_sampled_before_classes_were_unloaded_is_stale),
		TEST(a_known_method_keeps_its_earlier_name),
		TEST(a_class_that_stays_has_its_name_across_unloads),
		TEST(compiled_code_is_named_by_its_time),
		TEST(known_methods_are_not_read_for_each_pc_of_their_code),
		TEST(a_class_is_named_by_its_time),
		TEST(without_a_count_the_current_method_is_named),
		TEST(a_reused_method_is_named_anew),
		TEST(a_pointer_to_no_method_has_no_name),
		TEST(damaged_debug_information_leaves_the_physical_method),
		TEST(cyclic_scopes_end),
		TEST(a_starting_jvm_must_be_tried_again),
		TEST(a_heap_beyond_hotspots_limits_is_refused),
		TEST(an_interrupted_walk_continues),
		TEST(an_endless_heap_does_not_block),
		TEST(an_endless_table_is_cut),
		TEST(a_missing_field_costs_one_feature),
		TEST(tables_that_change_while_they_are_read_do_no_harm),
		TEST(memory_without_tables_is_no_jvm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
