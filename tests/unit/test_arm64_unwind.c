/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinder of arm64 on a fake process, compiled for this machine: native frames. */
#include "host/unwinder.h"
#include "test.h"

#include <string.h>

#include "capture/unwind/packed.h"

#define CODE      0xaaaa00100000ull /* needs 48 bits */
#define STACK     0xffff00700000ull
#define WORDS     1024
#define SIGNATURE 0x2a5f000000000000ull
#define BL        0x94000010u
#define BLR_X3    0xd63f0060u
#define BLRAAZ_X3 0xd63f087fu

/* A process with one module at CODE and a stack. */
struct world {
	struct unwind_words rows[32];
	struct unwind_range ranges[4];
	u32 code[0x400]; /* at CODE */
	u64 stack[WORDS];
	u64 counters[NR_STATS];
};

static struct world world;
static struct scratch scratch;

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	u32 i = *(const u32 *)key;

	if (map == &unwind_rows)
		return i < 32 ? &world.rows[i] : NULL;
	if (map == &unwind_ranges)
		return i < 4 ? &world.ranges[i] : NULL;
	return map == &stats ? &world.counters[i] : NULL;
}

static long bpf_probe_read_user(void *dst, __u32 size, const void *from)
{
	u64 at = (u64)from - STACK, code_at = (u64)from - CODE;

	if (code_at <= sizeof(world.code) - size) {
		memcpy(dst, (char *)world.code + code_at, size);
		return 0;
	}
	if (at > sizeof(world.stack) || size > sizeof(world.stack) - at)
		return -14;
	memcpy(dst, (char *)world.stack + at, size);
	return 0;
}

/* The last row ends stacks at CODE + 0x800. */
static void set_row(struct unwind_row row)
{
	const struct unwind_row rows[] = { row,
					   { 0x400, 0, ROW_NONE, 0 },
					   { 0x800, 0, ROW_END, 0 } };

	memset(&world, 0, sizeof(world));
	memset(&scratch, 0, sizeof(scratch));
	struct rows all = { .at = (struct unwind_row *)rows, .nr = 3 };
	auto_packed struct packed packed = { 0 };
	assert_int_equal(packed_new(&all, UINT32_MAX, &packed), 0);
	memcpy(world.rows, packed.words, packed.nr * sizeof(*packed.words));
	world.ranges[0] = (struct unwind_range){ .start = CODE,
						 .end = CODE + 0x1000,
						 .bias = CODE,
						 .first_page = packed.nr_rules,
						 .nr_pages = packed.nr_pages,
						 .kind = RANGE_ROWS };
	scratch.walk.proc = (struct unwind_proc){ .nr_ranges = 1, .jvm = UNWIND_NO_JVM };
	scratch.walk.regs = (struct regs){ .pc = CODE + 0x10, .sp = STACK, .fp = STACK + 0x200 };
}

static void ends_at_root(u32 nr_frames)
{
	assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
	assert_int_equal(scratch.sample.nr_user, nr_frames);
	assert_int_equal(scratch.words[2 * (nr_frames - 1)], CODE + 0x810);
}

static void a_leaf_returns_to_x30(void **state)
{
	set_row((struct unwind_row){ 0, 0, ROW_SP, 0 });
	scratch.walk.regs.lr = CODE + 0x810;
	ends_at_root(2);
	assert_int_equal(scratch.walk.regs.sp, STACK);

	set_row((struct unwind_row){ 0, 4, ROW_SP, 0 }); /* it has moved sp */
	scratch.walk.regs.lr = CODE + 0x810;
	ends_at_root(2);
	assert_int_equal(scratch.walk.regs.sp, STACK + 32);
}

static void fp_and_return_address_are_read_below_the_cfa(void **state)
{
	set_row((struct unwind_row){ 0, 6, ROW_SP, -4 });
	world.stack[2] = 0x1234;
	world.stack[3] = CODE + 0x810;
	ends_at_root(2);
	assert_int_equal(scratch.walk.regs.fp, 0x1234);
	assert_int_equal(scratch.walk.regs.sp, STACK + 48);
}

static void fp_and_return_address_are_read_near_the_register(void **state)
{
	set_row((struct unwind_row){ 0, 300, ROW_SP, 3 });
	world.stack[2] = 0x1234;
	world.stack[3] = CODE + 0x810;
	ends_at_root(2);
	assert_int_equal(scratch.walk.regs.fp, 0x1234);
	assert_int_equal(scratch.walk.regs.sp, STACK + 2400);

	set_row((struct unwind_row){ 0, 200, ROW_FP, 1 });
	world.stack[0x200 / 8] = 0x5678;
	world.stack[0x208 / 8] = CODE + 0x810;
	ends_at_root(2);
	assert_int_equal(scratch.walk.regs.fp, 0x5678);
	assert_int_equal(scratch.walk.regs.sp, STACK + 0x200 + 1600);
}

static void a_return_address_that_is_saved_alone_leaves_fp(void **state)
{
	set_row((struct unwind_row){ 0, 2, ROW_LINK, -2 });
	world.stack[0] = CODE + 0x810;
	ends_at_root(2);
	assert_int_equal(scratch.walk.regs.fp, STACK + 0x200);
}

static void signatures_are_removed(void **state)
{
	set_row((struct unwind_row){ 0, 2, ROW_SP, -2 });
	world.stack[1] = SIGNATURE | (CODE + 0x810);
	ends_at_root(2);

	set_row((struct unwind_row){ 0, 0, ROW_SP, 0 });
	scratch.walk.regs.lr = SIGNATURE | (CODE + 0x810);
	ends_at_root(2);
}

static void a_caller_cannot_have_its_return_address_in_x30(void **state)
{
	set_row((struct unwind_row){ 0, 2, ROW_SP, 0 });
	scratch.walk.regs.lr = CODE + 0x20;
	assert_int_equal(unwind_walk(&scratch), STAT_ROW_REGISTER);
	assert_int_equal(scratch.sample.nr_user, 2);
}

/* mov x8, #139; svc #0: no row, as on Linux 6.12 */
static void a_signals_return_is_recognised_by_its_code(void **state)
{
	set_row((struct unwind_row){ 0, 2, ROW_SP, -2 });
	world.code[0x500 / 4] = 0xd2801168;
	world.code[0x504 / 4] = 0xd4000001;
	world.stack[1] = CODE + 0x500;
	u64 *regs = &world.stack[2 + (128 + 184) / 8]; /* x0 */
	regs[29] = 0x1234;
	regs[30] = CODE + 0x810;
	regs[31] = STACK + 0x1000;
	regs[32] = CODE + 0x600; /* no row: a leaf again */
	world.code[0x80c / 4] = BL;
	ends_at_root(4);
	assert_int_equal(scratch.walk.regs.fp, 0x1234);
	assert_int_equal(scratch.walk.regs.sp, STACK + 0x1000);
	assert_true(scratch.words[5] & USER_FRAME_LEAF);
}

static void a_leaf_without_a_row_returns_to_x30_if_it_lies_behind_a_call(void **state)
{
	const u32 calls[] = { BL, BLR_X3, BLRAAZ_X3 };

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		set_row((struct unwind_row){ 0, 2, ROW_SP, -2 });
		scratch.walk.regs.pc = CODE + 0x440;
		scratch.walk.regs.lr = CODE + 0x810;
		world.code[0x80c / 4] = calls[i];
		ends_at_root(2);
		assert_true(scratch.words[1] & USER_FRAME_APPROXIMATE);
	}
	set_row((struct unwind_row){ 0, 2, ROW_SP, -2 });
	scratch.walk.regs.pc = CODE + 0x440;
	scratch.walk.regs.lr = CODE + 0x810;
	world.code[0x80c / 4] = RET;
	assert_int_equal(unwind_walk(&scratch), STAT_NO_ROW);
}

/* A return probe has put its trampoline's address into x30, when sp was the CFA. */
static void the_return_addresses_of_probed_functions_are_the_true_ones(void **state)
{
	set_row((struct unwind_row){ 0, 2, ROW_SP, -2 });
	world.stack[1] = 0xdead000;
	scratch.walk.nr_returns = 1;
	scratch.walk.returns[0] = (struct replaced_return){ STACK + 16, CODE + 0x810 };
	ends_at_root(2);
}

static void frames_of_impossible_size_and_unreadable_ones_end_the_walk(void **state)
{
	set_row((struct unwind_row){ 0, 0, ROW_FP, -2 });
	scratch.walk.regs.fp = STACK - 0x100; /* below sp */
	assert_int_equal(unwind_walk(&scratch), STAT_BAD_CFA);

	set_row((struct unwind_row){ 0, 60000, ROW_SP, -2 });
	assert_int_equal(unwind_walk(&scratch), STAT_UNREADABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leaf_returns_to_x30),
		cmocka_unit_test(fp_and_return_address_are_read_below_the_cfa),
		cmocka_unit_test(fp_and_return_address_are_read_near_the_register),
		cmocka_unit_test(a_return_address_that_is_saved_alone_leaves_fp),
		cmocka_unit_test(signatures_are_removed),
		cmocka_unit_test(a_caller_cannot_have_its_return_address_in_x30),
		cmocka_unit_test(a_signals_return_is_recognised_by_its_code),
		cmocka_unit_test(a_leaf_without_a_row_returns_to_x30_if_it_lies_behind_a_call),
		cmocka_unit_test(the_return_addresses_of_probed_functions_are_the_true_ones),
		cmocka_unit_test(frames_of_impossible_size_and_unreadable_ones_end_the_walk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
