/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinder's BPF sources on a fake process: native rows, and the ends of walks. */
#include "host/unwinder.h"
#include "test.h"

#include <string.h>

#include "capture/unwind/packed.h"

#define CODE  0x100000ull
#define STACK 0x700000ull
#define WORDS 4096

/* A process with one module at CODE and a stack. */
struct world {
	struct unwind_words rows[32];
	struct unwind_range ranges[4];
	u8 code[0x1000]; /* at CODE */
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
		memcpy(dst, world.code + code_at, size);
		return 0;
	}
	if (at > sizeof(world.stack) || size > sizeof(world.stack) - at)
		return -14;
	memcpy(dst, (char *)world.stack + at, size);
	return 0;
}

static void set_rows(const struct unwind_row *rows, u32 nr)
{
	memset(&world, 0, sizeof(world));
	memset(&scratch, 0, sizeof(scratch));
	struct rows all = { .at = (struct unwind_row *)rows, .nr = nr };
	auto_packed struct packed packed = { 0 };
	assert_int_equal(packed_new(&all, UINT32_MAX, &packed), 0);
	memcpy(world.rows, packed.words, packed.nr * sizeof(*packed.words));
	world.ranges[0] = (struct unwind_range){ .start = CODE,
						 .end = CODE + 0x1000,
						 .bias = CODE,
						 .first_page = packed.nr_rules,
						 .nr_pages = packed.nr_pages,
						 .kind = RANGE_ROWS };
	world.ranges[1] = (struct unwind_range){ .start = CODE + 0x8000, .end = CODE + 0x9000 };
	scratch.walk.proc = (struct unwind_proc){ .nr_ranges = 2, .jvm = UNWIND_NO_JVM };
	scratch.walk.regs = (struct regs){ .pc = CODE + 0x10, .sp = STACK, .fp = 0xf0 };
}

static u64 pc_of(u32 i)
{
	return scratch.words[2 * i];
}

static void a_walk_ends_at_the_outermost_frame(void **state)
{
	const struct unwind_row rows[] = { { 0, 0, ROW_NONE, 0 },
					   { 0x10, 2, ROW_SP, 0 },
					   { 0x100, 0, ROW_END, 0 } };
	set_rows(rows, 3);
	world.stack[1] = CODE + 0x105;
	assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
	assert_int_equal(scratch.sample.nr_user, 2);
	assert_int_equal(pc_of(1), CODE + 0x105);
	assert_true(scratch.words[1] & USER_FRAME_LEAF);
	assert_false(scratch.words[3] & USER_FRAME_LEAF);
}

static void a_return_address_behind_a_call_that_ends_its_function_finds_its_caller(void **state)
{
	const struct unwind_row rows[] = { { 0, 1, ROW_SP, 0 },
					   { 0x40, 0, ROW_END, 0 },
					   { 0x80, 9, ROW_SP, 0 } };
	set_rows(rows, 3);
	world.stack[0] = CODE + 0x80; /* the call is the last instruction before 0x80 */
	assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
}

static void the_saved_frame_pointer_is_restored(void **state)
{
	const struct unwind_row rows[] = { { 0, 4, ROW_SP, -3 },
					   { 0x40, 2, ROW_FP, -2 },
					   { 0x100, 0, ROW_END, 0 } };
	set_rows(rows, 3);
	world.stack[1] = STACK + 0x100; /* fp of the caller */
	world.stack[3] = CODE + 0x50;
	world.stack[0x100 / 8] = 0x1234;
	world.stack[0x108 / 8] = CODE + 0x110;
	assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
	assert_int_equal(scratch.walk.regs.fp, 0x1234);
	assert_int_equal(scratch.walk.regs.sp, STACK + 0x110);
}

/* Go runs C code on the stack of the thread, below and above those of goroutines. */
static void a_stack_switch_leads_to_a_lower_stack_and_a_loop_of_them_ends(void **state)
{
	const struct unwind_row rows[] = { { 0, 2, ROW_SWITCH, -2 }, { 0x100, 0, ROW_END, 0 } };

	set_rows(rows, 2);
	scratch.walk.regs.sp = STACK + 0x800;
	scratch.walk.regs.fp = STACK + 0x100;
	world.stack[0x100 / 8] = 0x1234;
	world.stack[0x108 / 8] = CODE + 0x110;
	assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
	assert_int_equal(scratch.sample.nr_user, 2);
	assert_int_equal(scratch.walk.regs.fp, 0x1234);
	assert_int_equal(scratch.walk.regs.sp, STACK + 0x110);

	set_rows(rows, 2);
	scratch.walk.regs.fp = STACK + 0x100;
	world.stack[0x100 / 8] = STACK + 0x100; /* its own frame */
	world.stack[0x108 / 8] = CODE + 0x20;
	assert_int_equal(unwind_walk(&scratch), STAT_DEPTH);
}

static void a_signal_frame_restores_a_leaf(void **state)
{
	const struct unwind_row rows[] = { { 0, 0, ROW_SIGNAL, 0 },
					   { 0x200, 1, ROW_SP, 0 },
					   { 0x300, 0, ROW_END, 0 } };
	set_rows(rows, 3);
	u64 *regs = &world.stack[REGS_IN_UCONTEXT / 8];
	regs[16] = CODE + 0x200; /* first instruction of its function: no pc - 1 here */
	regs[15] = STACK + 0x800;
	world.stack[0x800 / 8] = CODE + 0x301;
	assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
	assert_int_equal(scratch.sample.nr_user, 3);
	assert_true(scratch.words[3] & USER_FRAME_LEAF);
}

static void a_plt_entry_that_has_pushed_is_one_word_deeper(void **state)
{
	const struct unwind_row rows[] = { { 0, 0, ROW_PLT, 0 }, { 0x300, 0, ROW_END, 0 } };

	set_rows(rows, 2);
	scratch.walk.regs.pc = CODE + 0x1b;
	world.stack[1] = CODE + 0x301;
	assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
	assert_int_equal(scratch.walk.rule, RULE_ROW_END);
}

static void a_leafs_registers_locate_its_caller(void **state)
{
	const struct unwind_row rows[] = { { 0, 3 << ROW_REGISTER_SHIFT | 4, ROW_REGISTER, -2 },
					   { 0x300, 0, ROW_END, 0 } };

	set_rows(rows, 2); /* as in ld.so's _dl_runtime_resolve: CFA = rbx + 32 */
	scratch.walk.regs.bx = STACK + 0x100;
	world.stack[0x100 / 8 + 2] = 0x1234;
	world.stack[0x100 / 8 + 3] = CODE + 0x301;
	assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
	assert_int_equal(scratch.walk.regs.sp, STACK + 0x120);
	assert_int_equal(scratch.walk.regs.fp, 0x1234);
}

static void a_callers_registers_are_unknown(void **state)
{
	const struct unwind_row rows[] = { { 0, 1, ROW_SP, 0 },
					   { 0x200, 3 << ROW_REGISTER_SHIFT | 4, ROW_REGISTER, 0 },
					   { 0x300, 0, ROW_END, 0 } };

	set_rows(rows, 3);
	scratch.walk.regs.bx = STACK + 0x100;
	world.stack[0] = CODE + 0x208;
	world.stack[0x100 / 8 + 3] = CODE + 0x301;
	assert_int_equal(unwind_walk(&scratch), STAT_ROW_REGISTER);
	assert_int_equal(scratch.sample.nr_user, 2);
}

static void a_probed_return_has_its_true_address(void **state)
{
	const struct unwind_row rows[] = { { 0, 2, ROW_SP, 0 }, { 0x300, 0, ROW_END, 0 } };

	set_rows(rows, 2);
	world.stack[1] = 0x7ffffffff000; /* the trampoline */
	world.stack[3] = CODE + 0x20;    /* its return is not probed */
	world.stack[5] = 0x7ffffffff000;
	scratch.walk.nr_returns = 2;
	scratch.walk.returns[0] = (struct replaced_return){ STACK + 8, CODE + 0x15 };
	scratch.walk.returns[1] = (struct replaced_return){ STACK + 5 * 8, CODE + 0x301 };
	assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
	assert_int_equal(scratch.sample.nr_user, 4);
	assert_int_equal(pc_of(1), CODE + 0x15);
	assert_int_equal(pc_of(3), CODE + 0x301);
}

static void a_leaf_without_a_row_has_its_return_address_at_sp(void **state)
{
	const struct unwind_row rows[] = { { 0, 0, ROW_NONE, 0 }, { 0x300, 0, ROW_END, 0 } };

	const struct {
		u8 len, bytes[7];
	} calls[] = { { 5, { 0xe8, 1, 2, 3, 4 } },
		      { 2, { 0xff, 0xd0 } },
		      { 3, { 0x41, 0xff, 0xd2 } },
		      { 3, { 0xff, 0x50, 8 } },
		      { 4, { 0xff, 0x54, 0x24, 8 } },
		      { 6, { 0xff, 0x15, 1, 2, 3, 4 } },
		      { 7, { 0xff, 0x94, 0x24, 1, 2, 3, 4 } } };

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		set_rows(rows, 2);
		world.stack[0] = CODE + 0x310;
		memcpy(world.code + 0x310 - calls[i].len, calls[i].bytes, calls[i].len);
		assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
		assert_int_equal(pc_of(1), CODE + 0x310);
		assert_true(scratch.words[1] & USER_FRAME_APPROXIMATE);
	}
}

static void an_address_after_no_call_is_not_a_caller(void **state)
{
	const struct unwind_row rows[] = { { 0, 0, ROW_NONE, 0 }, { 0x300, 0, ROW_END, 0 } };

	set_rows(rows, 2);
	world.stack[0] = CODE + 0x310; /* a pointer to code, or its jump: ff /4 */
	memcpy(world.code + 0x30e, "\xff\xe0", 2);
	assert_int_equal(unwind_walk(&scratch), STAT_NO_ROW);
	assert_int_equal(scratch.sample.nr_user, 1);
}

static void a_leaf_in_code_of_no_known_image_has_no_caller(void **state)
{
	const struct unwind_row rows[] = { { 0, 0, ROW_END, 0 } };

	set_rows(rows, 1);
	scratch.walk.regs.pc = CODE + 0x8010; /* like a JIT's */
	world.stack[0] = CODE + 0x310;
	memcpy(world.code + 0x30e, "\xff\xd0", 2);
	assert_int_equal(unwind_walk(&scratch), STAT_NO_ROW);
	assert_int_equal(scratch.sample.nr_user, 1);
}

/* Code at CODE + 0x800 was generated; calls end at 0x310, in an image, and at 0x910. */
static void generate(void)
{
	const struct unwind_row rows[] = { { 0, 0, ROW_NONE, 0 }, { 0x300, 0, ROW_END, 0 } };

	set_rows(rows, 2);
	world.ranges[0].end = CODE + 0x800;
	world.ranges[1] = (struct unwind_range){ .start = CODE + 0x800, .end = CODE + 0x1000 };
	memcpy(world.code + 0x30e, "\xff\xd0", 2);
	memcpy(world.code + 0x90e, "\xff\xd0", 2);
	memcpy(world.code + 0x10e, "\xff\xd0", 2);
	scratch.walk.proc.generates = 1;
	scratch.walk.regs.pc = CODE + 0x880;
	scratch.walk.regs.fp = STACK + 0x40;
}

static void link_frame(u64 fp, u64 saved, u64 ra)
{
	world.stack[fp / 8] = saved;
	world.stack[fp / 8 + 1] = ra;
}

static void frames_of_generated_code_are_linked_by_fp(void **state)
{
	generate();
	link_frame(0x40, STACK + 0x80, CODE + 0x910);
	link_frame(0x80, 0x1234, CODE + 0x310);
	assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
	assert_int_equal(scratch.sample.nr_user, 3);
	assert_int_equal(pc_of(1), CODE + 0x910);
	assert_int_equal(pc_of(2), CODE + 0x310);
	assert_int_equal(scratch.walk.regs.fp, 0x1234);
	assert_int_equal(scratch.walk.regs.sp, STACK + 0x90);
}

/* V8 generates its builtins when it is built: the image has no rows for them. */
static void callers_in_gaps_of_the_image_are_linked_by_fp(void **state)
{
	generate();
	link_frame(0x40, STACK + 0x80, CODE + 0x110);
	link_frame(0x80, 0, CODE + 0x310);
	assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
	assert_int_equal(scratch.sample.nr_user, 3);
	assert_false(scratch.words[3] & USER_FRAME_APPROXIMATE);
}

static void a_generated_leaf_without_a_frame_has_its_callers_fp(void **state)
{
	const struct {
		const char *code; /* one byte before pc, three from it on */
		u64 words;
	} cases[] = {
		{ "\x90\x55\x48\x89", 0 },
		{ "\x90\xc3\x90\x90", 0 },
		{ "\x55\x48\x89\xe5", 1 },
		{ "\x55\x48\x8b\xec", 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		generate();
		memcpy(world.code + 0x880 - 1, cases[i].code, 4);
		world.stack[cases[i].words] = CODE + 0x910;
		link_frame(0x40, 0x1234, CODE + 0x310);
		assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
		assert_int_equal(scratch.sample.nr_user, 3);
		assert_int_equal(pc_of(1), CODE + 0x910);
		assert_int_equal(scratch.walk.regs.fp, 0x1234);
	}
}

static void a_generated_caller_that_pops_and_returns_has_its_callers_fp(void **state)
{
	generate();
	memcpy(world.code + 0x880 - 1, "\x90\xc3", 2);
	world.stack[0] = CODE + 0x910;
	memcpy(world.code + 0x910, "\x48\x83\xc4\x10\xc3", 5); /* add $16,%rsp; ret */
	world.stack[3] = CODE + 0x310;
	assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
	assert_int_equal(scratch.sample.nr_user, 3);
	assert_int_equal(scratch.walk.regs.sp, STACK + 32);
	assert_int_equal(scratch.walk.regs.fp, STACK + 0x40);
}

static void a_value_in_fp_is_no_frame_of_generated_code(void **state)
{
	generate();
	link_frame(0x40, STACK + 0x80, CODE + 0x920); /* behind no call */
	assert_int_equal(unwind_walk(&scratch), STAT_NO_ROW);
	assert_int_equal(scratch.sample.nr_user, 1);

	const u64 values[] = { 0, STACK - 16, STACK + 0x41, STACK + (128ull << 20) };
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		generate();
		link_frame(0x40, STACK + 0x80, CODE + 0x310);
		scratch.walk.regs.fp = values[i];
		assert_int_equal(unwind_walk(&scratch), STAT_NO_ROW);
	}
	generate();
	scratch.walk.regs.fp = STACK + sizeof(world.stack);
	assert_int_equal(unwind_walk(&scratch), STAT_UNREADABLE);
}

static void an_entry_point_is_the_root_only_at_the_first_sp(void **state)
{
	const struct unwind_row rows[] = { { 0, 2, ROW_SP, 0 }, { 0x100, 0, ROW_ENTRY, 0 } };
	const struct {
		u64 start_stack;
		u32 stop;
	} cases[] = {
		{ STACK + 16, STAT_ROOT },
		{ STACK + 64, STAT_ROOT },
		{ STACK + 2048, STAT_NO_ROW },
		{ STACK - 8192, STAT_NO_ROW },
		{ 0, STAT_NO_ROW },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		set_rows(rows, 2);
		scratch.walk.start_stack = cases[i].start_stack;
		world.stack[1] = CODE + 0x105;
		assert_int_equal(unwind_walk(&scratch), cases[i].stop);
		assert_int_equal(scratch.sample.nr_user, 2);
	}
}

/* The callers of main and of a thread's function in musl, which has no rows. */
static void a_call_whose_result_ends_the_thread_is_musls_root(void **state)
{
	const struct {
		u8 code[8];
		u16 cfa_off;
		u64 start_stack, tls;
		u32 stop;
	} cases[] = {
		/* exit(main()) */
		{ "\xe8\0\xff\xd3\x89\xc7\xe8", ROW_NONE_MUSL, STACK + 128, 0, STAT_ROOT },
		{ "\xe8\0\xff\xd3\x89\xc7\xe8", 0, STACK + 128, 0, STAT_NO_ROW },
		{ "\xe8\0\xff\xd3\x89\xc7\xe8", ROW_NONE_MUSL, STACK + 8192, 0, STAT_NO_ROW },
		{ "\xe8\0\0\0\x89\xc7\xe8", ROW_NONE_MUSL, STACK + 128, 0, STAT_NO_ROW },
		/* pthread_exit(start()), also from an int */
		{ "\0\0\xff\x13\x48\x89\xc7\xe8", ROW_NONE_MUSL, 0, STACK + 512, STAT_ROOT },
		{ "\0\xff\x55\0\x48\x63\xf8\xe8", ROW_NONE_MUSL, 0, STACK + 512, STAT_ROOT },
		{ "\0\0\xff\x13\x48\x89\xc7\xe8", ROW_NONE_MUSL, 0, STACK - 512, STAT_NO_ROW },
		{ "\0\0\xff\x13\x48\x89\xc6\xe8", ROW_NONE_MUSL, 0, STACK + 512, STAT_NO_ROW },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct unwind_row rows[] = { { 0, 2, ROW_SP, 0 },
						   { 0x100, cases[i].cfa_off, ROW_NONE, 0 } };
		set_rows(rows, 2);
		scratch.walk.start_stack = cases[i].start_stack;
		scratch.walk.tls = cases[i].tls;
		world.stack[1] = CODE + 0x105;
		memcpy(world.code + 0x101, cases[i].code, 8);
		assert_int_equal(unwind_walk(&scratch), cases[i].stop);
	}
}

static void a_leaf_may_have_its_return_address_in_a_register(void **state)
{
	const struct unwind_row rows[] = { { 0, 5 << ROW_REGISTER_SHIFT, ROW_IN_REGISTER, 0 },
					   { 0x80, 2, ROW_SP, 0 },
					   { 0x100, 0, ROW_END, 0 } };

	set_rows(rows, 3);
	scratch.walk.regs.di = CODE + 0x90;
	world.stack[1] = CODE + 0x105;
	assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
	assert_int_equal(scratch.sample.nr_user, 3);
	assert_int_equal(pc_of(1), CODE + 0x90);

	set_rows(rows, 3);
	scratch.walk.regs.pc = CODE + 0x80;
	world.stack[1] = CODE + 0x20; /* a caller's registers are unknown */
	assert_int_equal(unwind_walk(&scratch), STAT_ROW_REGISTER);
}

static void a_caller_without_a_row_ends_the_walk(void **state)
{
	const struct unwind_row rows[] = { { 0, 0, ROW_NONE, 0 },
					   { 0x10, 1, ROW_SP, 0 },
					   { 0x20, 0, ROW_NONE, 0 } };

	set_rows(rows, 3);
	world.stack[0] = CODE + 0x30;
	world.stack[1] = CODE + 0x301;
	assert_int_equal(unwind_walk(&scratch), STAT_NO_ROW);
	assert_int_equal(scratch.sample.nr_user, 2);
}

static void a_return_address_in_no_mapping_is_no_frame(void **state)
{
	const struct unwind_row rows[] = { { 0, 1, ROW_SP, 0 } };

	set_rows(rows, 1);
	world.stack[0] = CODE + 0x5000;
	assert_int_equal(unwind_walk(&scratch), STAT_NO_MAPPING);
	assert_int_equal(scratch.sample.nr_user, 1);
}

static void a_leaf_in_no_mapping_is_a_frame(void **state)
{
	const struct unwind_row rows[] = { { 0, 1, ROW_SP, 0 } };

	set_rows(rows, 1);
	scratch.walk.regs.pc = CODE + 0x5000;
	assert_int_equal(unwind_walk(&scratch), STAT_NO_MAPPING);
	assert_int_equal(pc_of(0), CODE + 0x5000);
}

static void a_frame_that_goes_down_the_stack_is_refused(void **state)
{
	const struct unwind_row rows[] = { { 0, 0, ROW_FP, 0 } };

	set_rows(rows, 1);
	scratch.walk.regs.fp = STACK - 8;
	assert_int_equal(unwind_walk(&scratch), STAT_BAD_CFA);
}

static void unreadable_stack_ends_the_walk(void **state)
{
	const struct unwind_row rows[] = { { 0, 2, ROW_SP, 0 } };

	set_rows(rows, 1);
	scratch.walk.regs.sp = STACK + sizeof(world.stack);
	assert_int_equal(unwind_walk(&scratch), STAT_UNREADABLE);
}

static void endless_recursion_is_cut_at_1024_frames_with_the_leaf_kept(void **state)
{
	const struct unwind_row rows[] = { { 0, 2, ROW_SP, 0 } };

	set_rows(rows, 1);
	for (u32 i = 0; i < WORDS; i++)
		world.stack[i] = CODE + 0x20;
	assert_int_equal(unwind_walk(&scratch), STAT_DEPTH);
	assert_int_equal(scratch.sample.nr_user, ABI_USER_FRAMES);
	assert_int_equal(pc_of(0), CODE + 0x10);
}

static void kernel_frames_in_front_stay(void **state)
{
	const struct unwind_row rows[] = { { 0, 0, ROW_END, 0 } };

	set_rows(rows, 1);
	scratch.sample.nr_kernel = 3;
	scratch.words[2] = 42;
	assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
	assert_int_equal(scratch.words[2], 42);
	assert_int_equal(scratch.words[3], CODE + 0x10);
}

static void rows_are_cached_for_one_publication(void **state)
{
	const struct unwind_row rows[] = { { 0, 1, ROW_SP, 0 }, { 0x100, 0, ROW_END, 0 } };
	set_rows(rows, 2);
	const struct regs regs = scratch.walk.regs;
	world.stack[0] = world.stack[1] = CODE + 0x105;
	scratch.walk.proc.publication = 1;
	assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
	assert_int_equal(scratch.walk.regs.sp, STACK + 8);
	for (u32 publication = 1; publication <= 2; publication++) {
		world.rows[0].at[1].rule.cfa_off = 2; /* rules are in descending order: the first of
						       * two */
		scratch.walk.regs = regs;
		scratch.walk.proc.publication = publication;
		assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
		assert_int_equal(scratch.walk.regs.sp, STACK + 8 * publication);
	}
}

static void the_last_words_of_a_stack_are_read(void **state)
{
	const struct unwind_row rows[] = { { 0, 1, ROW_SP, 0 }, { 0x100, 0, ROW_END, 0 } };
	set_rows(rows, 2);
	for (u32 words = 1; words <= WALK_WINDOW + 1; words++) {
		scratch.walk.regs =
			(struct regs){ .pc = CODE + 0x10, .sp = STACK + 8 * (WORDS - words) };
		world.stack[WORDS - words] = CODE + 0x105;
		assert_int_equal(unwind_walk(&scratch), STAT_ROOT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_walk_ends_at_the_outermost_frame),
		cmocka_unit_test(
			a_return_address_behind_a_call_that_ends_its_function_finds_its_caller),
		cmocka_unit_test(the_saved_frame_pointer_is_restored),
		cmocka_unit_test(a_stack_switch_leads_to_a_lower_stack_and_a_loop_of_them_ends),
		cmocka_unit_test(a_signal_frame_restores_a_leaf),
		cmocka_unit_test(a_plt_entry_that_has_pushed_is_one_word_deeper),
		cmocka_unit_test(a_leafs_registers_locate_its_caller),
		cmocka_unit_test(a_callers_registers_are_unknown),
		cmocka_unit_test(a_probed_return_has_its_true_address),
		cmocka_unit_test(a_leaf_without_a_row_has_its_return_address_at_sp),
		cmocka_unit_test(an_address_after_no_call_is_not_a_caller),
		cmocka_unit_test(a_leaf_in_code_of_no_known_image_has_no_caller),
		cmocka_unit_test(frames_of_generated_code_are_linked_by_fp),
		cmocka_unit_test(callers_in_gaps_of_the_image_are_linked_by_fp),
		cmocka_unit_test(a_generated_leaf_without_a_frame_has_its_callers_fp),
		cmocka_unit_test(a_generated_caller_that_pops_and_returns_has_its_callers_fp),
		cmocka_unit_test(a_value_in_fp_is_no_frame_of_generated_code),
		cmocka_unit_test(an_entry_point_is_the_root_only_at_the_first_sp),
		cmocka_unit_test(a_call_whose_result_ends_the_thread_is_musls_root),
		cmocka_unit_test(a_leaf_may_have_its_return_address_in_a_register),
		cmocka_unit_test(a_caller_without_a_row_ends_the_walk),
		cmocka_unit_test(a_return_address_in_no_mapping_is_no_frame),
		cmocka_unit_test(a_leaf_in_no_mapping_is_a_frame),
		cmocka_unit_test(a_frame_that_goes_down_the_stack_is_refused),
		cmocka_unit_test(unreadable_stack_ends_the_walk),
		cmocka_unit_test(endless_recursion_is_cut_at_1024_frames_with_the_leaf_kept),
		cmocka_unit_test(kernel_frames_in_front_stay),
		cmocka_unit_test(rows_are_cached_for_one_publication),
		cmocka_unit_test(the_last_words_of_a_stack_are_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
