/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the unwinder's BPF sources on a simulated JVM: one code heap with one blob, one stack. */
#pragma once

#include "host/unwinder.h"
#include "test.h"

#include <stdarg.h>
#include <string.h>

#define HEAP       0x10000000ull
#define HEAP_BYTES 0x10000
#define BLOB       (HEAP + 0x80 + 16) /* the block's second segment: one hop back */
#define CODE       (HEAP + 0x400)
#define CALLER     (HEAP + 0x800) /* in the same blob: the target of a return address */
#define STACK      0x700000ull
#define WORDS      256

enum {
	NAME_OFF = 8,
	FRAME_SIZE_OFF = 28,
	COMPLETE_OFF = 20,
	BEGIN_OFF = 32,
	END_OFF = 40
};
enum {
	NAME_NMETHOD = 1000,
	NAME_NATIVE,
	NAME_VTABLE
};
#define ID_OFF 300

struct world {
	u8 heap[HEAP_BYTES], segmap[HEAP_BYTES / 128];
	u64 stack[WORDS];
	struct hotspot_layout jvm;
	struct unwind_range range;
	u64 counters[NR_STATS];
};

static struct world world;
static struct scratch scratch;

#define SEGMAP 0x20000000ull

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	if (map == &unwind_ranges)
		return &world.range;
	if (map == &jvms)
		return &world.jvm;
	return map == &stats ? &world.counters[*(const u32 *)key] : NULL;
}

static bool copy(void *dst, u32 size, u64 from, u64 base, const void *bytes, u64 len)
{
	if (from < base || from - base > len || size > len - (from - base))
		return false;
	memcpy(dst, (const char *)bytes + (from - base), size);
	return true;
}

static long bpf_probe_read_user(void *dst, __u32 size, const void *from)
{
	u64 at = (u64)from;

	return copy(dst, size, at, HEAP, world.heap, HEAP_BYTES) ||
			       copy(dst, size, at, STACK, world.stack, sizeof(world.stack)) ||
			       copy(dst, size, at, SEGMAP, world.segmap, sizeof(world.segmap))
		       ? 0
		       : -14;
}

static void put(u64 at, const void *bytes, size_t len)
{
	memcpy(&world.heap[at - HEAP], bytes, len);
}

#define put_value(at, type, value)                \
	do {                                      \
		type put_v = (type)(value);       \
		put((at), &put_v, sizeof(put_v)); \
	} while (0)

/* Sets up a JVM like JDK 17: pointers to code, 32-bit frame_complete, names instead of kinds. */
static void set_jvm(void)
{
	world.jvm = (struct hotspot_layout){
		.bounds_start = HEAP,
		.bounds_end = HEAP + HEAP_BYTES,
		.name_nmethod = NAME_NMETHOD,
		.name_native = NAME_NATIVE,
		.name_vtable = NAME_VTABLE,
		.nr_heaps = 1,
		.heaps = { { HEAP, HEAP + HEAP_BYTES, SEGMAP, 7, 0 } },
		.method_slot = -3,
		.bcp_slot = -8,
		.sender_sp_slot = -1,
		.block_size = 16,
		.header_bytes = HOTSPOT_HEADER_MAX,
		.block_used = 8,
		.name = NAME_OFF,
		.kind = HOTSPOT_NO_FIELD,
		.frame_size = FRAME_SIZE_OFF,
		.frame_complete = COMPLETE_OFF,
		.code_begin = BEGIN_OFF,
		.code_end = END_OFF,
		.compile_id = ID_OFF,
		.orig_pc = HOTSPOT_NO_FIELD,
		.deopt = HOTSPOT_NO_FIELD,
		.deopt_mh = HOTSPOT_NO_FIELD,
	};
	world.range = (struct unwind_range){ .start = HEAP,
					     .end = HEAP + HEAP_BYTES,
					     .kind = RANGE_CODE_HEAP };
}

/* Sets up a heap with one blob of that name and frame size. The pc is at `code`. */
static void set_blob(u64 name, s32 frame_size, s32 complete, const char *code, size_t len)
{
	memset(&world, 0, sizeof(world));
	memset(&scratch, 0, sizeof(scratch));
	set_jvm();
	for (u32 i = 2; i < sizeof(world.segmap); i++)
		world.segmap[i] = i - 1 > 254 ? 254 : (u8)(i - 1);
	world.segmap[0] = 0xff; /* free */
	put_value(HEAP + 0x80 + 8, u8, 1);
	put_value(BLOB + NAME_OFF, u64, name);
	put_value(BLOB + FRAME_SIZE_OFF, s32, frame_size);
	put_value(BLOB + COMPLETE_OFF, s32, complete);
	put_value(BLOB + BEGIN_OFF, u64, CODE);
	put_value(BLOB + END_OFF, u64, HEAP + 0x1000);
	put_value(BLOB + ID_OFF, s32, 4711);
	put(CODE + 0x100, code, len);
	put_value(CALLER - 5, u8, 0xe8); /* a call ends here */
	scratch.walk.proc = (struct unwind_proc){ .nr_ranges = 1 };
	scratch.walk.regs = (struct regs){ .pc = CODE + 0x100, .sp = STACK, .fp = 0xf0 };
	scratch.walk.is_leaf = 1;
}

#define set_code(name, frame_size, complete, code) \
	set_blob(name, frame_size, complete, code, sizeof(code) - 1)

/* Expects one step to CALLER, with that sp and fp. */
static void assert_step(u64 sp_words, u64 fp)
{
	assert_int_equal(unwind_step(&scratch), 0);
	assert_int_equal(scratch.walk.regs.pc, CALLER);
	assert_int_equal(scratch.walk.regs.sp, STACK + 8 * sp_words);
	assert_int_equal(scratch.walk.regs.fp, fp);
}
