/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a code heap: compiled methods, stubs, adapters, continuations. */
#include "hotspot_world.h"

static void the_body_of_an_nmethod_has_its_frame_size(void **state)
{
	set_code(NAME_NMETHOD, 6, 20, "\x90\x90");
	world.stack[4] = 0x77;
	world.stack[5] = CALLER;
	assert_step(6, 0x77);
	assert_int_equal(scratch.words[1] >> USER_FRAME_KIND_SHIFT, USER_FRAME_COMPILED);
	assert_int_equal(scratch.words[1] >> USER_FRAME_ID_SHIFT & USER_FRAME_ID_MASK, 4711);
	assert_int_equal(scratch.words[1] & USER_FRAME_BLOB_MASK, CODE + 0x100 - BLOB);
}

static void step_again(u64 sp_words)
{
	scratch.walk.regs = (struct regs){ .pc = CODE + 0x100, .sp = STACK, .fp = 0xf0 };
	scratch.walk.is_leaf = 1;
	scratch.walk.blob = (struct blob){ 0 };
	scratch.sample.nr_user = 0;
	assert_step(sp_words, 0);
}

static void a_blob_is_cached_until_it_is_replaced(void **state)
{
	set_code(NAME_NMETHOD, 6, 20, "\x90\x90");
	world.stack[5] = world.stack[8] = CALLER;
	scratch.walk.proc.publication = 1;
	step_again(6);
	put_value(BLOB + FRAME_SIZE_OFF, s32, 9);
	step_again(6);
	put_value(BLOB + ID_OFF, s32, 4712);
	step_again(9);
	put_value(BLOB + FRAME_SIZE_OFF, s32, 6);
	scratch.walk.proc.publication = 2;
	step_again(6);
}

/* CodeHeap allocates from the end of a free block, whose header still belongs to the old blob. */
static void a_freed_blob_is_not_taken_from_the_cache(void **state)
{
	set_code(NAME_NMETHOD, 6, 20, "\x90\x90");
	world.stack[5] = CALLER;
	scratch.walk.proc.publication = 1;
	step_again(6);
	put_value(BLOB - world.jvm.block_size + world.jvm.block_used, u8, 0);
	scratch.walk.regs = (struct regs){ .pc = CODE + 0x100, .sp = STACK, .fp = 0xf0 };
	scratch.walk.is_leaf = 1; /* at the cached address itself */
	scratch.walk.blob = (struct blob){ 0 };
	scratch.sample.nr_user = 0;
	assert_int_equal(unwind_step(&scratch), STAT_NO_BLOB);
}

static void a_stub_is_cached_by_its_name(void **state)
{
	set_code(1003, 6, 20, "\x90\x90");
	world.stack[5] = world.stack[8] = CALLER;
	scratch.walk.proc.publication = 1;
	step_again(6);
	put_value(BLOB + FRAME_SIZE_OFF, s32, 9);
	step_again(6);
	put_value(BLOB + NAME_OFF, u64, 1004);
	step_again(9);
}

/* The code at the pc of a leaf, and the location of its caller. */
struct leaf {
	const char *what;
	u64 name;
	s32 left; /* of the prologue, after the pc; 0: after the prologue */
	char code[40];
	size_t len;
	u64 ra_word;      /* of the return address */
	bool fp_is_below; /* below it; otherwise unchanged */
};

#define LEAF(what, name, left, code, ra, fp)                     \
	{                                                        \
		what, name, left, code, sizeof(code) - 1, ra, fp \
	}

static const struct leaf leaves[] = {
	LEAF("ret", NAME_NMETHOD, 0, "\xc3", 0, false),
	LEAF("pop rbp", NAME_NMETHOD, 0, "\x5d\xc3", 1, true),
	LEAF("poll of JDK 8", NAME_NMETHOD, 0, "\x85\x05\x11\x22\x33\x44\xc3", 0, false),
	LEAF("poll of JDK 11", NAME_NMETHOD, 0, "\x4d\x8b\x97\x08\x01\0\0\x41\x85\x02\xc3", 0,
	     false),
	LEAF("test of JDK 11", NAME_NMETHOD, 0, "\x41\x85\x02\xc3", 0, false),
	LEAF("poll of JDK 17", NAME_NMETHOD, 0,
	     "\x49\x3b\xa7\x40\x03\0\0\x0f\x87\x11\x22\x33\x44\xc3", 0, false),
	LEAF("poll of JDK 25", NAME_NMETHOD, 0, "\x49\x3b\x67\x28\x0f\x87\x11\x22\x33\x44\xc3", 0,
	     false),
	LEAF("ja and ret", NAME_NMETHOD, 0, "\x0f\x87\x11\x22\x33\x44\xc3", 0, false),
	LEAF("ja without ret is body", NAME_NMETHOD, 0, "\x0f\x87\x11\x22\x33\x44\x90", 5, true),
	LEAF("poll stub", NAME_NMETHOD, 0,
	     "\x49\xba\1\2\3\4\5\6\7\x08\x4d\x89\x97\x11\x22\x33\x44\xe9\0\0\0\0", 0, false),
	LEAF("stack bang", NAME_NMETHOD, 12, "\x89\x84\x24\0\xc0\xfe\xff\x55\x48\x83\xec\x20", 0,
	     false),
	LEAF("push rbp", NAME_NMETHOD, 5, "\x55\x48\x83\xec\x20", 0, false),
	LEAF("sub rsp behind push", NAME_NMETHOD, 4, "\x48\x83\xec\x20\x90\x90\x90", 1, true),
	LEAF("sub rsp without push", NAME_NMETHOD, 12, "\x48\x81\xec\x28\0\0\0\x48\x89\x6c\x24\x20",
	     0, false),
	LEAF("store of rbp", NAME_NMETHOD, 5, "\x48\x89\x6c\x24\x20", 5, false),
	LEAF("mov rbp of a kept frame pointer", NAME_NMETHOD, 7, "\x48\x8b\xec\x48\x83\xc5\x20", 5,
	     true),
	LEAF("entry barrier", NAME_NMETHOD, 14, "\x41\x81\x7f\x20\1\0\0\0\x0f\x85\0\0\0\0", 5,
	     true),
	LEAF("jump of the barrier", NAME_NMETHOD, 6, "\x0f\x85\0\0\0\0", 5, true),
	LEAF("long jump of the barrier", NAME_NMETHOD, 11, "\x0f\x84\5\0\0\0\xe8\0\0\0\0", 5, true),
	LEAF("padding of the barrier", NAME_NMETHOD, 17,
	     "\x66\x66\x90\x41\x81\x7f\x20\1\0\0\0\x74\x05\xe8\0\0\0", 5, true),
	LEAF("padding of the entry", NAME_NMETHOD, 15, "\x0f\x1f\0\x89\x84\x24\0\xc0\xfe\xff\x55",
	     0, false),
	LEAF("mov rbp, rsp of a wrapper", NAME_NATIVE, 7, "\x48\x8b\xec\x48\x83\xec\x30", 1, true),
	LEAF("exception check of JDK 17", NAME_NATIVE, 0,
	     "\x49\x81\x7f\x08\0\0\0\0\x0f\x85\1\2\3\4\xc3", 0, false),
	LEAF("exception check of JDK 21", NAME_NATIVE, 0, "\x49\x83\x7f\x08\0\x0f\x85\1\2\3\4\xc3",
	     0, false),
	LEAF("leave of a wrapper is body", NAME_NATIVE, 0, "\xc9\xc3", 5, true),
	LEAF("vtable stub", NAME_VTABLE, 0, "\x90", 0, false),
};

static void leaves_have_their_return_address_where_the_code_says(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(leaves); i++) {
		const struct leaf *l = &leaves[i];

		set_blob(l->name, 6, l->left ? 0x100 + l->left : 8, l->code, l->len);
		world.stack[l->ra_word] = CALLER;
		if (l->ra_word)
			world.stack[l->ra_word - 1] = 0x77;
		print_message("%s\n", l->what);
		assert_step(l->ra_word + 1, l->fp_is_below ? 0x77 : 0xf0);
	}
}

static void the_search_skips_pushed_arguments(void **state)
{
	set_code(NAME_NMETHOD, 6, 8, "\x90");
	world.stack[7] = CALLER;
	world.stack[6] = 0x77;
	assert_step(8, 0x77);
	assert_true(scratch.words[1] & USER_FRAME_APPROXIMATE);
	assert_int_equal(world.counters[STAT_SEARCHED], 1);
}

static void a_stale_address_without_a_call_is_rejected(void **state)
{
	set_code(NAME_NMETHOD, 6, 8, "\x90");
	world.stack[7] = CALLER + 1;
	assert_int_equal(unwind_step(&scratch), STAT_RETURN_ADDRESS);
}

static void a_stub_routine_with_a_frame_of_fp_is_unwound_by_fp(void **state)
{
	set_code(2000, 0, -1, "\x90");
	scratch.walk.regs.fp = STACK + 24;
	world.stack[3] = 0x77;
	world.stack[4] = CALLER;
	assert_step(5, 0x77);
	assert_int_equal(scratch.words[1] >> USER_FRAME_KIND_SHIFT, USER_FRAME_STUB);
}

static void the_entry_barriers_cookie_is_skipped(void **state)
{
	set_code(2000, 0, -1, "\x90");
	scratch.walk.regs.fp = STACK + 24;
	world.stack[4] = ~0ull;
	world.stack[5] = CALLER;
	assert_step(6, 0);
}

static void a_routine_that_only_pushes_is_found_by_the_call_to_it(void **state)
{
	set_code(2000, 0, -1, "\x90");
	put_value(CALLER - 4, s32, CODE + 0xf0 - CALLER);
	world.stack[3] = CALLER;
	assert_step(4, 0xf0);
	assert_int_equal(scratch.walk.rule, RULE_CALL_TARGET);
}

#define STALE        (CALLER + 0x40) /* a return address in dead stack */
#define NAME_ADAPTER 1005

static void fill_with_stale(u64 nr)
{
	put_value(STALE - 5, u8, 0xe8);
	for (u64 i = 0; i < nr; i++)
		world.stack[i] = STALE;
}

/* A method with 6 words of frame and some more below it. */
struct pushed {
	const char *what;
	u64 words;
	char code[24];
};

static const struct pushed pushes[] = {
	{ "push; mov; push; call; pop; pop", 0,
	  "\x57\x49\xba\1\2\3\4\5\6\7\x08\x41\x52\xe8\1\2\3\4\x5f\x5b" },
	{ "mov; push; call; pop; pop", 1,
	  "\x49\xba\1\2\3\4\5\6\7\x08\x41\x52\xe8\1\2\3\4\x5f\x5b" },
	{ "push; call; pop; pop", 1, "\x52\xe8\1\2\3\4\x58\x58\x85\xc0" },
	{ "call; pop; pop", 2, "\xe8\1\2\3\4\x41\x58\x41\x59\x85\xc0" },
	{ "pop; pop", 2, "\x58\x58\x85\xc0" },
	{ "pop", 1, "\x41\x58\x85\xc0" },
	{ "call without pop", 0, "\xe8\1\2\3\4\x85\xc0" },
	{ "call before pop rbp", 0, "\xe8\1\2\3\4\x5d\xc3" },
};

static void words_pushed_for_a_stub_lie_below_the_frame(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(pushes); i++) {
		const struct pushed *p = &pushes[i];

		print_message("%s\n", p->what);
		set_blob(NAME_NMETHOD, 6, 8, p->code, sizeof(p->code));
		fill_with_stale(5 + p->words);
		world.stack[4 + p->words] = 0x77;
		world.stack[5 + p->words] = CALLER;
		assert_step(6 + p->words, 0x77);
		assert_false(scratch.words[1] & USER_FRAME_APPROXIMATE);
	}
}

static void a_stubs_caller_pops_the_words_it_pushed(void **state)
{
	set_code(NAME_NMETHOD, 6, 8, "\x5b\x5f\x83\xff");
	fill_with_stale(7);
	world.stack[6] = 0x77;
	world.stack[7] = CALLER;
	scratch.walk.is_leaf = 0;
	scratch.walk.callee_kind = USER_FRAME_STUB;
	assert_step(8, 0x77);
}

static void code_for_calls_to_the_interpreter_is_the_callers(void **state)
{
	for (u64 at = 0; at <= 10; at += 10) {
		set_code(NAME_NMETHOD, 6, 8, "\x48\xbb\1\2\3\4\5\6\7\x08\xe9");
		put_value(STALE - 5, u8, 0xe8);
		put_value(STALE - 4, s32, CODE + 0x100 - STALE);
		scratch.walk.regs.pc += at;
		world.stack[0] = world.stack[5] = STALE;
		world.stack[6] = CALLER;
		assert_step(7, STALE);
	}
}

/* Registers are saved by sub rsp, 16, then stores. A dead call to the same stub is in their place.
 */
static void words_that_are_still_to_be_saved_are_not_searched(void **state)
{
	static const char code[] = "\x48\x83\xec\x10\x48\x89\x14\x24\x4c\x89\x44\x24\x08";

	for (u64 at = 4; at <= 8; at += 4) {
		set_blob(2000, -1, -1, code, sizeof(code) - 1);
		scratch.walk.regs.pc += at;
		put_value(CALLER - 4, s32, CODE + 0xf0 - CALLER);
		put_value(STALE - 5, u8, 0xe8);
		put_value(STALE - 4, s32, CODE + 0xf0 - STALE);
		world.stack[0] = world.stack[1] = STALE;
		world.stack[2] = CALLER;
		assert_step(3, 0xf0);
	}
}

/* A leaf in an adapter, `at` bytes into the code. The caller's sp is at word 6. */
struct adapter {
	const char *what;
	u64 at, r13_word, ra_word; /* of the return address; 99: in rax */
	char code[24];
};

static const struct adapter adapters[] = {
	{ "c2i: mov r13, rsp", 1, 99, 99,
	  "\x58\x4c\x8b\xec\x48\x83\xec\x30\x48\x89\x04\x24\x89\x74\x24\x20" },
	{ "c2i: sub", 4, 6, 99,
	  "\x58\x4c\x8b\xec\x48\x83\xec\x30\x48\x89\x04\x24\x89\x74\x24\x20" },
	{ "c2i: mov [rsp], rax", 8, 6, 99,
	  "\x58\x4c\x8b\xec\x48\x83\xec\x30\x48\x89\x04\x24\x89\x74\x24\x20" },
	{ "c2i: store of an argument", 12, 6, 0,
	  "\x58\x4c\x8b\xec\x48\x83\xec\x30\x48\x89\x04\x24\x89\x74\x24\x20" },
	{ "c2i with many arguments", 15, 6, 0,
	  "\x58\x4c\x8b\xec\x48\x81\xec\x30\0\0\0\x48\x89\x04\x24\x89\x74\x24\x20" },
	{ "c2i of JDK 25: sub", 6, 6, 99,
	  "\x4c\x8d\x6c\x24\x08\x58\x48\x83\xec\x28\x50\x89\x74\x24\x20" },
	{ "c2i of JDK 25: push rax", 10, 6, 99,
	  "\x4c\x8d\x6c\x24\x08\x58\x48\x83\xec\x28\x50\x89\x74\x24\x20" },
	{ "c2i of JDK 25: store of an argument", 11, 6, 0,
	  "\x4c\x8d\x6c\x24\x08\x58\x48\x83\xec\x28\x50\x89\x74\x24\x20" },
	{ "i2c: sub", 0, 6, 99, "\x48\x83\xec\x10\x48\x83\xe4\xf0\x50\x49\x8b\xc3" },
	{ "i2c: and", 4, 6, 99, "\x48\x83\xec\x10\x48\x83\xe4\xf0\x50\x49\x8b\xc3" },
	{ "i2c: push rax", 4, 6, 99, "\x48\x83\xe4\xf0\x50\x49\x8b\xc3" },
};

static void an_adapters_code_says_where_its_return_address_is(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(adapters); i++) {
		const struct adapter *a = &adapters[i];
		bool is_popped = a->ra_word == 99;

		print_message("%s\n", a->what);
		set_blob(NAME_ADAPTER, 0, -1, a->code, sizeof(a->code));
		world.jvm.name_adapter = NAME_ADAPTER;
		fill_with_stale(6);
		scratch.walk.regs.pc += a->at;
		scratch.walk.regs.r13 = STACK + 8 * a->r13_word;
		scratch.walk.regs.ax = is_popped ? CALLER : 0;
		if (!is_popped)
			world.stack[a->ra_word] = CALLER;
		assert_step(a->r13_word == 99 ? 0 : 6, 0xf0);
	}
}

static void another_adapters_code_does_not_count(void **state)
{
	set_code(NAME_ADAPTER, 0, -1, "\x90");
	world.jvm.name_adapter = NAME_ADAPTER;
	put(CODE - 8, "\x58\x4c\x8b\xec\x48\x83\xec\x30", 8);
	scratch.walk.regs.pc = CODE + 4;
	scratch.walk.regs.r13 = STACK + 48;
	world.stack[0] = CALLER;
	assert_step(1, 0xf0);
}

static void a_pc_in_free_memory_is_in_no_blob(void **state)
{
	set_code(NAME_NMETHOD, 6, 8, "\x90");
	scratch.walk.regs.pc = HEAP + 4;
	assert_int_equal(unwind_step(&scratch), STAT_NO_BLOB);
}

/* As in JDK 25: block headers are small, and the heap begins with a blob. */
static void before_the_first_block_of_a_heap_nothing_is_read(void **state)
{
	set_code(NAME_NMETHOD, 6, 8, "\x90");
	world.jvm.block_size = 8;
	world.jvm.block_used = 4;
	memmove(world.heap + 8, world.heap + (BLOB - HEAP), 0x300);
	put_value(HEAP + 4, u8, 1);
	world.segmap[0] = 0;
	for (u32 i = 1; i < sizeof(world.segmap); i++)
		world.segmap[i] = i > 254 ? 254 : (u8)i;
	world.stack[4] = 0x77;
	world.stack[5] = CALLER;
	assert_step(6, 0x77);
}

static void a_cyclic_segment_map_ends(void **state)
{
	set_code(NAME_NMETHOD, 6, 8, "\x90");
	memset(world.segmap, 1, sizeof(world.segmap));
	scratch.walk.regs.pc = HEAP + HEAP_BYTES - 1;
	assert_int_equal(unwind_step(&scratch), STAT_NO_BLOB);
}

static void an_implausible_frame_size_is_refused(void **state)
{
	set_code(NAME_NMETHOD, 1 << 30, 8, "\x90");
	assert_int_equal(unwind_step(&scratch), STAT_BAD_BLOB);
}

/* Offsets come from a process. For any value, no read leaves the header. */
static void implausible_offsets_do_no_harm(void **state)
{
	for (u32 off = 0; off < 0x10000; off += 97) {
		set_code(NAME_NMETHOD, 6, 8, "\x90");
		world.jvm.name = world.jvm.code_begin = world.jvm.frame_size = (u16)off;
		world.jvm.frame_complete = world.jvm.compile_id = world.jvm.code_end =
			(u16)(off * 7);
		world.jvm.block_used = world.jvm.kind = world.jvm.orig_pc = (u16)(off * 3);
		world.jvm.deopt = world.jvm.deopt_mh = (u16)(off * 5);
		unwind_step(&scratch);
	}
}

static void a_deoptimised_frame_shows_where_it_was(void **state)
{
	set_code(NAME_NMETHOD, 6, 8, "\x90");
	world.jvm.deopt = 128;
	world.jvm.orig_pc = 200;
	put_value(BLOB + 128, u64, CODE + 0x100);
	put_value(BLOB + 200, s32, 16);
	scratch.walk.is_leaf = 0;
	world.stack[2] = CODE + 0x55;
	world.stack[5] = CALLER;
	assert_step(6, 0);
	assert_int_equal(scratch.words[0], CODE + 0x55);
}

static void the_return_barrier_leads_to_the_continuations_entry(void **state)
{
	set_code(NAME_NMETHOD, 6, 8, "\x90");
	world.jvm.barrier = CODE + 0x20;
	world.jvm.enter_special_return = CALLER;
	world.stack[5] = CODE + 0x20;
	assert_step(6, 0);
	assert_int_equal(scratch.sample.nr_user, 2);
	assert_int_equal(scratch.words[3] >> USER_FRAME_KIND_SHIFT, USER_FRAME_FROZEN);
	assert_true(scratch.walk.is_frozen);
}

/*
 * Puts thread-local storage and a JavaThread on the fake stack; its ContinuationEntry is at `word`.
 */
static void set_carrier(u64 word)
{
	enum {
		TLS = 100,
		DTV = 110,
		BLOCK = 120,
		THREAD = 130
	};

	world.jvm.barrier = CODE + 0x20;
	world.jvm.enter_special_return = CALLER;
	world.jvm.tls_module = 3;
	world.jvm.tls_offset = 24;
	world.jvm.cont_entry = 40;
	scratch.walk.tls = STACK + 8 * TLS;
	world.stack[TLS + 1] = STACK + 8 * DTV;
	world.stack[DTV + 2 * 3] = STACK + 8 * BLOCK;
	world.stack[BLOCK + 3] = STACK + 8 * THREAD;
	world.stack[THREAD + 5] = STACK + 8 * word;
}

static void arguments_lie_between_a_continuations_last_frame_and_its_entry(void **state)
{
	set_code(NAME_NMETHOD, 6, 8, "\x90");
	set_carrier(9);
	world.stack[5] = CODE + 0x20;
	assert_step(9, 0);
	world.stack[135] = STACK + 8 * 5; /* an entry below: another continuation's */
	scratch.walk.regs = (struct regs){ .pc = CODE + 0x100, .sp = STACK };
	assert_int_equal(unwind_step(&scratch), STAT_CONTINUATION);
}

static void the_inner_continuation_is_found_first(void **state)
{
	set_code(NAME_NMETHOD, 6, 8, "\x90");
	set_carrier(9);
	scratch.walk.regs.sp = STACK + 10 * 8;
	world.stack[15] = CODE + 0x20;
	world.stack[10] = STACK + 16 * 8; /* the parent of the one at 9 */
	assert_step(16, 0);
}

static void thawing_code_is_unwound_by_the_carriers_entry(void **state)
{
	set_code(2000, 0, -1, "\x90");
	world.jvm.cont_stubs_start = CODE;
	world.jvm.cont_stubs_end = CODE + 0x200;
	set_carrier(50);
	assert_step(50, 0xf0);
	assert_int_equal(scratch.walk.rule, RULE_CONTINUATION);
	assert_int_equal(scratch.words[3] >> USER_FRAME_KIND_SHIFT, USER_FRAME_FROZEN);
}

/* prepare_thaw is called with sp at the entry. */
static void a_caller_may_have_the_entry_as_its_sp(void **state)
{
	set_code(2000, 0, -1, "\x90");
	world.jvm.cont_stubs_start = CODE;
	world.jvm.cont_stubs_end = CODE + 0x200;
	set_carrier(0);
	scratch.walk.is_leaf = 0;
	assert_step(0, 0xf0);
}

static void thawing_code_is_cut_if_the_carrier_is_unknown(void **state)
{
	set_code(2000, 0, -1, "\x90");
	world.jvm.cont_stubs_start = CODE;
	world.jvm.cont_stubs_end = CODE + 0x200;
	world.jvm.enter_special_return = CALLER;
	assert_int_equal(unwind_step(&scratch), STAT_CONTINUATION);
}

/* The JavaThread no longer has a continuation. */
static void a_yield_without_frames_is_at_the_entry(void **state)
{
	set_code(NAME_NATIVE, 2, 4, "\x90");
	set_carrier(0);
	world.stack[135] = 0;
	world.jvm.do_yield = BLOB;
	world.jvm.popped[1] = (struct hotspot_code){ CODE + 0x100, CODE + 0x101 };
	assert_step(0, 0xf0);
	assert_int_equal(scratch.walk.rule, RULE_CONTINUATION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_body_of_an_nmethod_has_its_frame_size),
		cmocka_unit_test(a_blob_is_cached_until_it_is_replaced),
		cmocka_unit_test(a_freed_blob_is_not_taken_from_the_cache),
		cmocka_unit_test(a_stub_is_cached_by_its_name),
		cmocka_unit_test(leaves_have_their_return_address_where_the_code_says),
		cmocka_unit_test(the_search_skips_pushed_arguments),
		cmocka_unit_test(a_stale_address_without_a_call_is_rejected),
		cmocka_unit_test(a_stub_routine_with_a_frame_of_fp_is_unwound_by_fp),
		cmocka_unit_test(the_entry_barriers_cookie_is_skipped),
		cmocka_unit_test(a_routine_that_only_pushes_is_found_by_the_call_to_it),
		cmocka_unit_test(words_pushed_for_a_stub_lie_below_the_frame),
		cmocka_unit_test(a_stubs_caller_pops_the_words_it_pushed),
		cmocka_unit_test(code_for_calls_to_the_interpreter_is_the_callers),
		cmocka_unit_test(words_that_are_still_to_be_saved_are_not_searched),
		cmocka_unit_test(an_adapters_code_says_where_its_return_address_is),
		cmocka_unit_test(another_adapters_code_does_not_count),
		cmocka_unit_test(a_pc_in_free_memory_is_in_no_blob),
		cmocka_unit_test(before_the_first_block_of_a_heap_nothing_is_read),
		cmocka_unit_test(a_cyclic_segment_map_ends),
		cmocka_unit_test(an_implausible_frame_size_is_refused),
		cmocka_unit_test(implausible_offsets_do_no_harm),
		cmocka_unit_test(a_deoptimised_frame_shows_where_it_was),
		cmocka_unit_test(the_return_barrier_leads_to_the_continuations_entry),
		cmocka_unit_test(arguments_lie_between_a_continuations_last_frame_and_its_entry),
		cmocka_unit_test(the_inner_continuation_is_found_first),
		cmocka_unit_test(thawing_code_is_unwound_by_the_carriers_entry),
		cmocka_unit_test(a_caller_may_have_the_entry_as_its_sp),
		cmocka_unit_test(thawing_code_is_cut_if_the_carrier_is_unknown),
		cmocka_unit_test(a_yield_without_frames_is_at_the_entry),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
