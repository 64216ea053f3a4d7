/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares every row of large libraries with elfutils' reading of the same call frame information.
 */
#include "test.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "elf/elf.h"
#include "elf/rows.h"

enum {
	RBP = 6,
	RSP = 7,
	RIP = 16,
};

struct library {
	const char *pattern; /* pattern of the path */
	u32 min_rows;        /* a file with fewer rows would prove little */
};

static bool is_breg(const Dwarf_Op *op, u64 reg, s64 *off)
{
	if (op->atom == DW_OP_breg0 + reg) {
		*off = (s64)op->number;
		return true;
	}
	if (op->atom == DW_OP_bregx && op->number == reg) {
		*off = (s64)op->number2;
		return true;
	}
	return false;
}

#define LEAF_REGISTERS 0xa83f /* rax, rdx, rcx, rbx, rsi, rdi, r11, r13, r15 */

static bool is_leaf_register(const Dwarf_Op *op, u8 *number, s64 *off)
{
	static const u8 numbers[] = { 0, 1, 2, 3, 4, 5, 11, 13, 15 };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (is_breg(op, *number = numbers[i], off))
			return true;
	return false;
}

/* rsp + 8 + ((rip & 15) >= 11) * 8 */
static bool is_plt(const Dwarf_Op *ops, size_t nr)
{
	static const u8 atoms[] = { DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, DW_OP_lit11,
				    DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,   DW_OP_plus };
	if (nr != ARRAY_SIZE(atoms) || ops[0].number != 8 || ops[1].number != 0)
		return false;
	for (size_t i = 0; i < nr; i++)
		if (ops[i].atom != atoms[i])
			return false;
	return true;
}

/* Where a register is saved, in the terms of rows. */
enum saved {
	SAVED_SAME,
	SAVED_UNDEFINED,
	SAVED_AT_CFA,
	SAVED_AT_FP,
	SAVED_IN_REGISTER, /* of a leaf; *off is its number */
	SAVED_OTHER,
};

static enum saved saved(Dwarf_Frame *frame, int reg, s64 *off)
{
	Dwarf_Op memory[3], *ops;
	size_t nr;
	s64 fp_off;

	assert_int_equal(dwarf_frame_register(frame, reg, memory, &ops, &nr), 0);
	if (nr == 0)
		return ops ? SAVED_UNDEFINED : SAVED_SAME;
	if (nr == 1 && ops[0].atom == DW_OP_call_frame_cfa) {
		*off = 0;
		return SAVED_AT_CFA;
	}
	*off = nr != 1                     ? -1
	       : ops[0].atom == DW_OP_regx ? (s64)ops[0].number
					   : (s64)ops[0].atom - DW_OP_reg0;
	if (*off >= 0 && *off < 16 && LEAF_REGISTERS >> *off & 1)
		return SAVED_IN_REGISTER;
	if (nr == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst) {
		*off = (s64)ops[1].number;
		return SAVED_AT_CFA;
	}
	/* An expression starts with the CFA on its stack. */
	if (nr == 2 && ops[0].atom == DW_OP_call_frame_cfa && is_breg(&ops[1], RBP, &fp_off) &&
	    fp_off == 0)
		return SAVED_AT_FP;
	return SAVED_OTHER;
}

/* The row for libdw's rule at one address. */
static struct unwind_row expected(Dwarf_Frame *frame, bool is_signal)
{
	const struct unwind_row unsupported = { .kind = ROW_UNSUPPORTED };
	s64 off = 0, fp_off = 0, ra_off = 0;
	Dwarf_Op *ops;
	size_t nr;
	u8 number;

	enum saved ra = saved(frame, RIP, &ra_off), fp = saved(frame, RBP, &fp_off);
	if (ra == SAVED_UNDEFINED)
		return (struct unwind_row){ .kind = ROW_END };
	if (is_signal)
		return (struct unwind_row){ .kind = ROW_SIGNAL };
	if (ra == SAVED_IN_REGISTER && fp == SAVED_SAME && !dwarf_frame_cfa(frame, &ops, &nr) &&
	    nr == 1 && is_breg(&ops[0], RSP, &off))
		return (struct unwind_row){ .kind = ROW_IN_REGISTER,
					    .cfa_off = (u16)(ra_off << 12 | off / 8) };
	if (ra != SAVED_AT_CFA || ra_off != -8 || dwarf_frame_cfa(frame, &ops, &nr))
		return unsupported;
	if (is_plt(ops, nr) && fp == SAVED_SAME)
		return (struct unwind_row){ .kind = ROW_PLT };
	if (nr == 2 && is_breg(&ops[0], RBP, &off) && ops[1].atom == DW_OP_deref &&
	    fp == SAVED_AT_FP)
		return (struct unwind_row){ .kind = ROW_FP_DEREF, .cfa_off = (u16)(off / 8) };
	bool is_saved = fp == SAVED_AT_CFA && fp_off % 8 == 0 && fp_off < 0 && fp_off >= -1024;
	if (fp != SAVED_SAME && !is_saved)
		return unsupported;
	if (nr == 3 && is_breg(&ops[0], RSP, &off) && ops[1].atom == DW_OP_deref &&
	    ops[2].atom == DW_OP_plus_uconst && ops[2].number == 8)
		return (struct unwind_row){ .kind = ROW_SP_DEREF,
					    .cfa_off = (u16)(off / 8),
					    .fp_off = is_saved ? (s8)(fp_off / 8) : 0 };
	if (nr == 1 && is_leaf_register(&ops[0], &number, &off) && off % 8 == 0 && off >= 0 &&
	    off / 8 <= (s64)ROW_REGISTER_WORDS_MAX)
		return (struct unwind_row){ .kind = ROW_REGISTER,
					    .cfa_off = (u16)(number << 12 | off / 8),
					    .fp_off = is_saved ? (s8)(fp_off / 8) : 0 };
	bool is_sp = nr == 1 && is_breg(&ops[0], RSP, &off);
	bool is_fp = nr == 1 && is_breg(&ops[0], RBP, &off);
	if ((!is_sp && !is_fp) || off % 8 || off < 0 || off / 8 > UINT16_MAX)
		return unsupported;
	if (fp != SAVED_SAME && (fp != SAVED_AT_CFA || fp_off % 8 || fp_off >= 0 || fp_off < -1024))
		return unsupported;
	return (struct unwind_row){
		.kind = is_sp ? ROW_SP : ROW_FP,
		.cfa_off = (u16)(off / 8),
		.fp_off = is_saved ? (s8)(fp_off / 8) : 0,
	};
}

static bool is_same_rule(const struct unwind_row *a, const struct unwind_row *b)
{
	return a->kind == b->kind && a->cfa_off == b->cfa_off && a->fp_off == b->fp_off;
}

static void report(const char *path, u64 pc, const struct unwind_row *got,
		   const struct unwind_row *want)
{
	print_message("%s+%#llx: kind %u cfa %d fp %d, libdw: kind %u cfa %d fp %d\n", path,
		      (unsigned long long)pc, got->kind, (s16)got->cfa_off, got->fp_off, want->kind,
		      (s16)want->cfa_off, want->fp_off);
}

/* The row for `pc`, which counts as in rows and is not before `row`. */
static const struct unwind_row *later_row(const struct rows *rows, const struct unwind_row *row,
					  u64 pc)
{
	while (row + 1 < rows->at + rows->nr && row[1].pc <= pc)
		row++;
	return row;
}

/*
 * Compares every piece in which neither table changes, to detect a change that one of them missed.
 * Returns the number of pieces that differ. Prints nothing if `path` is NULL.
 */
static u32 compare(const char *path, const struct rows *rows, Dwarf_CFI *cfi)
{
	u64 end = rows->base + rows->at[rows->nr - 1].pc, gap = 0;
	const struct unwind_row *row = rows->at;
	u32 nr_different = 0;

	for (u64 pc = rows->base + rows->at[0].pc, next; pc < end; pc = next) {
		Dwarf_Frame *frame;
		Dwarf_Addr piece_start, piece_end;
		bool is_signal;

		struct unwind_row want = { .kind = ROW_NONE };
		row = later_row(rows, row, pc - rows->base);
		next = rows->base + row[1].pc;
		if (dwarf_cfi_addrframe(cfi, pc, &frame) == 0) {
			dwarf_frame_info(frame, &piece_start, &piece_end, &is_signal);
			want = expected(frame, is_signal);
			free(frame);
			if (piece_end < next)
				next = piece_end;
			gap = 0;
		} else if (row->kind == ROW_ENTRY) {
			continue; /* the entry of the dynamic linker, unknown to libdw */
		} else if (row->kind != ROW_NONE && ++gap < ROWS_MIN_GAP) {
			next = pc + 1;
			continue;
		}
		if (!is_same_rule(row, &want) && nr_different++ < 10 && path)
			report(path, pc, row, &want);
	}
	return nr_different;
}

static void check_invariants(const struct rows *rows)
{
	for (u32 i = 1; i < rows->nr; i++) {
		assert_true(rows->at[i - 1].pc < rows->at[i].pc);
		assert_false(is_same_rule(&rows->at[i - 1], &rows->at[i]));
	}
	assert_int_equal(rows->at[rows->nr - 1].kind, ROW_NONE);
}

static void check_library(const char *path, u32 min_rows)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_elf struct elf *e = NULL;
	auto_rows struct rows rows = { 0 };

	assert_int_equal(elf_open_fd(fd, &e), 0);
	assert_int_equal(rows_build(e, &rows), 0);
	assert_true(rows.nr > min_rows);
	assert_int_equal(rows.nr_malformed, 0);
	assert_int_equal(rows.nr_unknown_ops, 0);
	check_invariants(&rows);

	elf_version(EV_CURRENT);
	Elf *oracle = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *cfi = dwarf_getcfi_elf(oracle);
	assert_non_null(cfi);
	assert_int_equal(compare(path, &rows, cfi), 0);

	/* The comparison detects one wrong frame pointer. */
	rows.at[rows.nr / 2].fp_off ^= 64;
	assert_true(compare(NULL, &rows, cfi) >= 1);
	dwarf_cfi_end(cfi);
	elf_end(oracle);
}

static void rows_agree_with_libdw(void **state)
{
	const struct library *library = *state;
	glob_t paths;

	if (glob(library->pattern, 0, NULL, &paths) != 0)
		skip_because("this library is not installed");
	for (size_t i = 0; i < paths.gl_pathc; i++)
		check_library(paths.gl_pathv[i], library->min_rows);
	globfree(&paths);
}

/* A program without .eh_frame for its own functions; libdw reads only its .debug_frame. */
static void rows_of_debug_frame_agree_with_libdw(void **state)
{
	auto_free char *path = xasprintf("%s/tests/programs/debug_frame", getenv("O") ?: "build");
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_elf struct elf *e = NULL;
	auto_rows struct rows all = { 0 }, own = { 0 };
	auto_cfi_input struct cfi_input input = { 0 };

	assert_int_equal(elf_open_fd(fd, &e), 0);
	assert_int_equal(cfi_input_of_file(e, &input), 0);
	assert_int_equal(input.nr, 2);
	struct cfi_input debug = { { input.sections[1] }, 1, input.base, input.size };
	assert_int_equal(rows_compile(&debug, &own), 0);
	assert_true(own.nr_fdes >= 3);

	Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
	assert_int_equal(compare(path, &own, dwarf_getcfi(dwarf)), 0);
	dwarf_end(dwarf);

	/* The whole program's rows contain them beside those of .eh_frame. */
	assert_int_equal(rows_build(e, &all), 0);
	assert_true(all.nr_fdes > own.nr_fdes);
	const struct unwind_row *row = all.at;
	assert_int_equal(all.base, own.base);
	for (u32 i = 0; i + 1 < own.nr; i++) {
		row = later_row(&all, row, own.at[i].pc);
		assert_true(is_same_rule(row, &own.at[i]));
	}
}

#define AGREES(name, pattern, min_rows)                                                 \
	{                                                                               \
		"rows_of_" name "_agree_with_libdw", rows_agree_with_libdw, NULL, NULL, \
			&(struct library)                                               \
		{                                                                       \
			pattern, min_rows                                               \
		}                                                                       \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AGREES("the_jvm", "/usr/lib/jvm/*/lib/server/libjvm.so", 50000),
		AGREES("libc", "/lib/*-linux-gnu/libc.so.6", 10000),
		AGREES("the_dynamic_linker", "/lib64/ld-linux-*.so.2", 1000),
		AGREES("libstdcxx", "/lib/*-linux-gnu/libstdc++.so.6", 10000),
		AGREES("libcrypto", "/lib/*-linux-gnu/libcrypto.so.*", 10000),
		AGREES("llvm", "/lib/*-linux-gnu/libLLVM-1?.so.1", 100000),
		AGREES("node", "/usr/bin/node",
		       1), /* a whole program, or a small one that loads libnode */
		cmocka_unit_test(rows_of_debug_frame_agree_with_libdw),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
