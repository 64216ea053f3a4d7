/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of arm64: by hand, and every row of large libraries compared with elfutils' reading of the
 * same call frame information. Compiled for this machine, as all of sysflame that has no arm64
 * code.
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

#define BYTES(...) (const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ })

#define START 0x1000u

/*
 * The rows of one function at START, 0x100 bytes long. Its CIE has CFA = sp, code alignment 4 and
 * data alignment -8, as gcc writes it.
 */
static struct rows rows_of(const char *letters, const u8 *insns, size_t nr)
{
	u8 bytes[256] = { 0 };
	size_t at = 4;
	struct rows rows = { 0 };

	memset(bytes + at, 0, 4); /* the id of a CIE */
	at += 4;
	bytes[at++] = 1;
	memcpy(bytes + at, letters, strlen(letters) + 1);
	at += strlen(letters) + 1;
	memcpy(bytes + at, (const u8[]){ 4, 0x78, 30, 1, 0x03, 0x0c, 31, 0 }, 8);
	at += 8;
	bytes[0] = (u8)(at - 4);
	u32 fde = (u32)at;
	const u32 head[] = { (u32)nr + 13, fde + 4, START, 0x100 };
	memcpy(bytes + at, head, sizeof(head));
	at += sizeof(head);
	bytes[at++] = 0;
	memcpy(bytes + at, insns, nr);
	at += nr;
	const struct cfi_input input = {
		{ { bytes, at + 4, 0x100000, false } }, 1, 0, 0x10000, 0, 0
	};
	assert_int_equal(rows_compile(&input, &rows), 0);
	return rows;
}

static void is_row(const struct rows *rows, u32 i, u32 kind, u32 cfa_off, int fp_off)
{
	assert_true(i < rows->nr);
	assert_int_equal(rows->at[i].kind, kind);
	assert_int_equal(rows->at[i].cfa_off, cfa_off);
	assert_int_equal(rows->at[i].fp_off, fp_off);
}

static void a_leaf_has_its_return_address_in_x30(void **state)
{
	auto_rows struct rows rows = rows_of("zR", BYTES(0));

	is_row(&rows, 0, ROW_SP, 0, 0);
}

/* paciasp; stp x29, x30, [sp, #-32]!; mov x29, sp; .. ldp x29, x30, [sp], #32; autiasp */
static void a_pair_is_saved_below_the_cfa_also_when_it_is_signed(void **state)
{
	auto_rows struct rows rows =
		rows_of("zR", BYTES(0x41, 0x2d, 0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x41, 0x0d, 29,
				    0x48, 0xdd, 0xde, 0x0c, 31, 0, 0x41, 0x2d));

	is_row(&rows, 0, ROW_SP, 0, 0);
	is_row(&rows, 1, ROW_SP, 4, -4);
	is_row(&rows, 2, ROW_FP, 4, -4);
	is_row(&rows, 3, ROW_SP, 0, 0);
	assert_int_equal(rows.nr_unknown_ops, 0);
	assert_int_equal(rows.at[1].pc, START + 8);
}

/* sub sp, sp, #2064; stp x29, x30, [sp, #16] */
static void a_pair_far_below_the_cfa_is_found_from_the_register(void **state)
{
	auto_rows struct rows rows =
		rows_of("zR", BYTES(0x0e, 0x90, 0x10, 0x9d, 0x80, 2, 0x9e, 0xff, 1));

	is_row(&rows, 0, ROW_SP, 258, 3);
}

static void the_return_address_may_be_saved_alone(void **state)
{
	auto_rows struct rows rows = rows_of("zR", BYTES(0x0e, 16, 0x9e, 2));

	is_row(&rows, 0, ROW_LINK, 2, -2);
}

static void pairs_that_are_torn_apart_are_unsupported(void **state)
{
	auto_rows struct rows apart = rows_of("zR", BYTES(0x0e, 32, 0x9d, 4, 0x9e, 1));
	auto_rows struct rows fp_alone = rows_of("zR", BYTES(0x0e, 32, 0x9d, 4));
	auto_rows struct rows far =
		rows_of("zR", BYTES(0x0e, 0x90, 0x20, 0x9d, 0x80, 2, 0x9e, 0xff, 1));

	is_row(&apart, 0, ROW_UNSUPPORTED, 0, 0);
	is_row(&fp_alone, 0, ROW_UNSUPPORTED, 0, 0);
	is_row(&far, 0, ROW_UNSUPPORTED, 0, 0);
}

static void an_undefined_return_address_ends_the_stack(void **state)
{
	auto_rows struct rows rows = rows_of("zR", BYTES(0x07, 30));

	is_row(&rows, 0, ROW_END, 0, 0);
}

static void functions_signed_by_the_second_key_and_signal_frames_are_known(void **state)
{
	auto_rows struct rows rows = rows_of("zRB", BYTES(0x2d, 0x0e, 16, 0x9d, 2, 0x9e, 1));
	auto_rows struct rows signal = rows_of("zRS", BYTES(0x0c, 29, 0));

	is_row(&rows, 0, ROW_SP, 2, -2);
	is_row(&signal, 0, ROW_SIGNAL, 0, 0);
}

struct library {
	const char *suite;   /* of Debian; from trixie on return addresses are signed */
	const char *name;    /* below the root of Debian's packages */
	u32 min_rows;        /* a file with fewer rows would prove little */
	u32 max_unsupported; /* rows */
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

enum saved {
	SAVED_SAME,
	SAVED_UNDEFINED,
	SAVED_AT_CFA,
	SAVED_OTHER,
};

static enum saved saved(Dwarf_Frame *frame, int reg, s64 *off)
{
	Dwarf_Op memory[3], *ops;
	size_t nr;

	*off = 0;
	assert_int_equal(dwarf_frame_register(frame, reg, memory, &ops, &nr), 0);
	if (nr == 0)
		return ops ? SAVED_UNDEFINED : SAVED_SAME;
	if (nr == 1 && ops[0].atom == DW_OP_call_frame_cfa)
		return SAVED_AT_CFA;
	if (nr == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst) {
		*off = (s64)ops[1].number;
		return SAVED_AT_CFA;
	}
	return SAVED_OTHER;
}

/* libdw's rule at one address. */
struct rule {
	bool is_end, is_signal, is_sp, is_fp;
	enum saved fp, ra;
	s64 cfa_off, fp_off, ra_off;
};

static struct rule rule_of(Dwarf_Frame *frame, bool is_signal)
{
	struct rule r = { .is_signal = is_signal };
	Dwarf_Op *ops;
	size_t nr;

	r.ra = saved(frame, DWARF_RA, &r.ra_off);
	r.fp = saved(frame, DWARF_FP, &r.fp_off);
	r.is_end = r.ra == SAVED_UNDEFINED;
	assert_int_equal(dwarf_frame_cfa(frame, &ops, &nr), 0);
	r.is_sp = nr == 1 && is_breg(&ops[0], DWARF_SP, &r.cfa_off);
	r.is_fp = nr == 1 && is_breg(&ops[0], DWARF_FP, &r.cfa_off);
	return r;
}

/* Bytes from the CFA to what the row says is saved; 0 if nothing is. */
static s64 saved_at(const struct unwind_row *row)
{
	return row->fp_off <= 0 ? row->fp_off * 8 : (row->fp_off - 1 - row->cfa_off) * 8;
}

/* Whether the row says what libdw does. */
static bool says(const struct unwind_row *row, const struct rule *r)
{
	if (r->is_end || r->is_signal)
		return row->kind == (r->is_end ? ROW_END : ROW_SIGNAL);
	if ((row->kind != ROW_FP && !r->is_sp) || (row->kind == ROW_FP && !r->is_fp) ||
	    row->cfa_off * 8 != r->cfa_off)
		return false;
	if (row->kind == ROW_LINK)
		return r->fp == SAVED_SAME && r->ra == SAVED_AT_CFA && r->ra_off == saved_at(row);
	if (row->kind != ROW_SP && row->kind != ROW_FP)
		return false;
	if (!row->fp_off)
		return r->fp == SAVED_SAME && r->ra == SAVED_SAME;
	return r->fp == SAVED_AT_CFA && r->ra == SAVED_AT_CFA && r->fp_off == saved_at(row) &&
	       r->ra_off == r->fp_off + 8;
}

struct figures {
	u32 nr, nr_in_register, nr_alone, nr_from_register, nr_unsupported, nr_wrong;
};

static bool has_rule(Dwarf_CFI *cfi, u64 pc)
{
	Dwarf_Frame *frame;

	if (dwarf_cfi_addrframe(cfi, pc, &frame))
		return false;
	free(frame);
	return true;
}

/* Compares every piece in which neither table changes. */
static void compare(const struct rows *rows, Dwarf_CFI *cfi, bool is_quiet, struct figures *out)
{
	*out = (struct figures){ 0 };
	for (u32 i = 0; i + 1 < rows->nr; i++) {
		const struct unwind_row *row = &rows->at[i];
		u64 pc = rows->base + row->pc, end = rows->base + row[1].pc;
		if (row->kind == ROW_NONE || row->kind == ROW_ENTRY) {
			out->nr_wrong += has_rule(cfi, pc);
			continue;
		}
		out->nr++;
		out->nr_in_register +=
			row->kind != ROW_END && row->kind != ROW_UNSUPPORTED && !row->fp_off;
		out->nr_alone += row->kind == ROW_LINK;
		out->nr_from_register += row->fp_off > 0;
		out->nr_unsupported += row->kind == ROW_UNSUPPORTED;
		while (pc < end) {
			Dwarf_Addr start, next;
			Dwarf_Frame *frame;
			bool is_signal;
			if (dwarf_cfi_addrframe(cfi, pc, &frame))
				break; /* the gap between two functions */
			dwarf_frame_info(frame, &start, &next, &is_signal);
			struct rule rule = rule_of(frame, is_signal);
			free(frame);
			if (row->kind != ROW_UNSUPPORTED && !says(row, &rule) &&
			    out->nr_wrong++ < 10 && !is_quiet)
				print_message("%#llx: kind %u cfa %u fp %d; libdw: sp %d fp %d cfa "
					      "%lld, fp %d %lld, ra %d %lld\n",
					      (unsigned long long)pc, row->kind, row->cfa_off,
					      row->fp_off, rule.is_sp, rule.is_fp,
					      (long long)rule.cfa_off, rule.fp,
					      (long long)rule.fp_off, rule.ra,
					      (long long)rule.ra_off);
			pc = next;
		}
	}
}

static void check_library(const char *path, const struct library *library)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_elf struct elf *e = NULL;
	auto_rows struct rows rows = { 0 };
	struct figures f;

	assert_int_equal(elf_open_fd(fd, &e), 0);
	assert_int_equal(rows_build(e, &rows), 0);
	assert_int_equal(rows.nr_malformed, 0);
	assert_int_equal(rows.nr_unknown_ops, 0);
	elf_version(EV_CURRENT);
	Elf *oracle = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *cfi = dwarf_getcfi_elf(oracle);
	assert_non_null(cfi);
	compare(&rows, cfi, false, &f);
	print_message(
		"%s: %u rows, x30 %.1f %%, x30 alone %.2f %%, pair from the register %.2f %%, "
		"unsupported %u, wrong %u\n",
		library->name, f.nr, 100. * f.nr_in_register / f.nr, 100. * f.nr_alone / f.nr,
		100. * f.nr_from_register / f.nr, f.nr_unsupported, f.nr_wrong);
	assert_int_equal(f.nr_wrong, 0);
	assert_true(f.nr > library->min_rows);
	assert_true(f.nr_unsupported <= library->max_unsupported);

	/* The comparison detects one wrong place. */
	u32 i = rows.nr / 2;
	while (rows.at[i].kind != ROW_SP || !rows.at[i].fp_off)
		i++;
	rows.at[i].cfa_off++;
	compare(&rows, cfi, true, &f);
	assert_true(f.nr_wrong >= 1);
	dwarf_cfi_end(cfi);
	elf_end(oracle);
}

/* Downloads Debian's packages for arm64 once. Returns false if that is impossible. */
static bool find_root(const char *suite, char root[256])
{
	auto_free char *command =
		xasprintf("ARM64_SUITE=%s tests/lib/arm64-root ensure libc6 libssl3%s", suite,
			  !strcmp(suite, "bookworm") ? " openjdk-17-jre-headless"
						     : "t64 openjdk-21-jre-headless");
	FILE *out = popen(command, "r");
	bool is_found = out && fgets(root, 256, out);

	if (out)
		pclose(out);
	root[strcspn(root, "\n")] = 0;
	return is_found;
}

static void rows_agree_with_libdw(void **state)
{
	const struct library *library = *state;
	char root[256] = "";

	if (!find_root(library->suite, root))
		skip_because("Debian's packages for arm64 are not there");
	auto_free char *path = xasprintf("%s/%s", root, library->name);
	check_library(path, library);
}

#define AGREES(what, suite, path, min_rows, max_unsupported)                            \
	{                                                                               \
		"rows_of_" what "_agree_with_libdw", rows_agree_with_libdw, NULL, NULL, \
			&(struct library)                                               \
		{                                                                       \
			suite, path, min_rows, max_unsupported                          \
		}                                                                       \
	}

#define LIBRARIES "usr/lib/aarch64-linux-gnu/"
#define JVM(jdk)  "usr/lib/jvm/java-" jdk "-openjdk-arm64/lib/server/libjvm.so"

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leaf_has_its_return_address_in_x30),
		cmocka_unit_test(a_pair_is_saved_below_the_cfa_also_when_it_is_signed),
		cmocka_unit_test(a_pair_far_below_the_cfa_is_found_from_the_register),
		cmocka_unit_test(the_return_address_may_be_saved_alone),
		cmocka_unit_test(pairs_that_are_torn_apart_are_unsupported),
		cmocka_unit_test(an_undefined_return_address_ends_the_stack),
		cmocka_unit_test(functions_signed_by_the_second_key_and_signal_frames_are_known),
		AGREES("libc", "bookworm", "lib/aarch64-linux-gnu/libc.so.6", 10000, 3),
		AGREES("libcrypto", "bookworm", LIBRARIES "libcrypto.so.3", 20000, 0),
		AGREES("the_jvm", "bookworm", JVM("17"), 90000, 0),
		AGREES("signed_libc", "trixie", LIBRARIES "libc.so.6", 10000, 10),
		AGREES("signed_libcrypto", "trixie", LIBRARIES "libcrypto.so.3", 20000, 10),
		AGREES("the_signed_jvm", "trixie", JVM("21"), 90000, 10),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
