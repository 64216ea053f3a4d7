/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles call frame information to a table of unwind rows. */
#include "elf/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "elf/cfi_run.h"
struct table {
	VEC(struct unwind_row) rows;
	u32 musl_end; /* as in struct cfi_input */
	bool is_full;
};

static void add_row(void *ctx, struct unwind_row row)
{
	struct table *t = ctx;

	if (t->rows.nr) {
		const struct unwind_row *last = &t->rows.at[t->rows.nr - 1];
		if (last->kind == row.kind && last->cfa_off == row.cfa_off &&
		    last->fp_off == row.fp_off)
			return;
	}
	if (t->rows.nr == ROWS_MAX)
		t->is_full = true;
	else
		vec_push(&t->rows, row);
}

/* By start; for the same start .eh_frame before .debug_frame, then the order of the file. */
static int compare_keys(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Fills in the indices of the entries sorted by start, without hidden entries. */
static size_t order_fdes(const struct cfi *cfi, u32 *order)
{
	auto_free u64 *keys = xreallocarray(NULL, cfi->fdes.nr + 1, sizeof(*keys));
	for (size_t i = 0; i < cfi->fdes.nr; i++)
		keys[i] = (u64)cfi->fdes.at[i].start << 32 | i;
	qsort(keys, cfi->fdes.nr, sizeof(*keys), compare_keys);

	size_t nr = 0;
	u32 covered = 0; /* end of the code covered by .eh_frame */
	const struct cfi_fde *last = NULL;
	for (size_t i = 0; i < cfi->fdes.nr; i++) {
		const struct cfi_fde *fde = &cfi->fdes.at[(u32)keys[i]];
		bool is_debug = cfi_fde_is_debug(cfi, fde);
		if ((last && last->start == fde->start) || (is_debug && fde->start < covered))
			continue;
		if (!is_debug && fde->end > covered)
			covered = fde->end;
		order[nr++] = (u32)keys[i];
		last = fde;
	}
	return nr;
}

static void add_none(struct table *t, u32 pc)
{
	add_row(t,
		(struct unwind_row){ .pc = pc, .cfa_off = pc < t->musl_end ? ROW_NONE_MUSL : 0 });
}

static bool is_at_end(const struct table *t)
{
	return t->rows.nr && t->rows.at[t->rows.nr - 1].kind == ROW_END;
}

/*
 * Gaps between functions have no rule, except for the entry point: those of ld.so and musl are
 * assembly without call frame information. A rule that ends stacks never applies to a gap.
 */
static void add_gap(struct table *t, u32 start, u32 end, u32 entry)
{
	bool has_entry = entry && entry >= start && entry < end;

	u32 min = is_at_end(t) ? 1 : ROWS_MIN_GAP;
	if (has_entry ? entry > start : end - start >= min)
		add_none(t, start);
	if (!has_entry)
		return;
	add_row(t, (struct unwind_row){ .pc = entry, .kind = ROW_ENTRY });
	if (end - entry > ROWS_ENTRY_BYTES)
		add_none(t, entry + ROWS_ENTRY_BYTES);
}

static void add_functions(struct cfi *cfi, u32 entry, struct table *t)
{
	auto_free u32 *order = xreallocarray(NULL, cfi->fdes.nr + 1, sizeof(*order));
	size_t nr = order_fdes(cfi, order);
	u32 covered = 0;

	for (size_t i = 0; i < nr && !t->is_full; i++) {
		const struct cfi_fde *fde = &cfi->fdes.at[order[i]];
		u32 end = fde->end;
		if (i + 1 < nr && cfi->fdes.at[order[i + 1]].start < end)
			end = cfi->fdes.at[order[i + 1]].start;
		/* The code before the first function has a row only if that row says something. */
		if (i || t->musl_end ? fde->start >= covered : entry && entry < fde->start)
			add_gap(t, i || t->musl_end ? covered : entry, fde->start, entry);
		cfi_run(cfi, fde, end, add_row, t);
		covered = end;
	}
	if (nr)
		add_gap(t, covered, UINT32_MAX, entry);
	if (nr && t->rows.at[t->rows.nr - 1].pc < t->musl_end)
		add_none(t, t->musl_end);
}

static int read_entries(struct cfi *cfi, const struct cfi_input *input)
{
	for (size_t i = 0; i < input->nr; i++) {
		int err = cfi_read(cfi, &input->sections[i]);
		if (err)
			return err;
	}
	return 0;
}

/* Takes the rows over and frees unused room. */
static void finish(const struct cfi *cfi, struct table *t, struct rows *out)
{
	*out = (struct rows){
		.at = xreallocarray(t->rows.at, t->rows.nr, sizeof(out->at[0])),
		.nr = (u32)t->rows.nr,
		.base = cfi->base,
		.nr_fdes = (u32)cfi->fdes.nr,
		.nr_malformed = cfi->nr_malformed,
		.nr_unknown_ops = cfi->nr_unknown_ops,
	};
	for (u32 i = 0; i < out->nr; i++)
		out->nr_unsupported += out->at[i].kind == ROW_UNSUPPORTED;
}

int rows_compile(const struct cfi_input *input, struct rows *out)
{
	struct cfi cfi = { .base = input->base, .size = input->size };
	struct table table = { .musl_end = input->musl_end };

	int err = read_entries(&cfi, input);
	if (!err)
		add_functions(&cfi, input->entry, &table);
	if (!err && table.is_full)
		err = -EFBIG;
	if (!err && !table.rows.nr)
		err = -ENODATA;
	if (!err)
		finish(&cfi, &table, out);
	else
		vec_fini(&table.rows);
	cfi_fini(&cfi);
	return err;
}

int rows_build(const struct elf *e, struct rows *out)
{
	auto_cfi_input struct cfi_input input = { 0 };

	int err = cfi_input_of_file(e, &input);
	return err ? err : rows_compile(&input, out);
}

int rows_build_image(struct image_memory memory, u64 load_addr, struct rows *out)
{
	auto_cfi_input struct cfi_input input = { 0 };

	int err = cfi_input_of_image(memory, load_addr, &input);
	return err ? err : rows_compile(&input, out);
}

static int read_own_memory(void *ctx, u64 addr, void *buf, size_t len)
{
	memcpy(buf, (const void *)addr, len);
	return 0;
}

int rows_build_vdso(struct rows *out)
{
	u64 addr = getauxval(AT_SYSINFO_EHDR);

	if (!addr)
		return -ENOENT;
	return rows_build_image((struct image_memory){ .read = read_own_memory }, addr, out);
}

/* arch/x86/kernel/uprobes.c: push rcx, r11, rax; mov, syscall; pop rax, r11, rcx; ret */
void rows_of_uprobes_trampoline(struct rows *out)
{
	static const struct unwind_row rows[] = {
		{ 0, 1, ROW_SP, 0 },  { 1, 2, ROW_SP, 0 },    { 3, 3, ROW_SP, 0 },
		{ 4, 4, ROW_SP, 0 },  { 14, 3, ROW_SP, 0 },   { 16, 2, ROW_SP, 0 },
		{ 17, 1, ROW_SP, 0 }, { 18, 0, ROW_NONE, 0 },
	};

	*out = (struct rows){ .at = xmemdup(rows, sizeof(rows)), .nr = ARRAY_SIZE(rows) };
}

bool rows_are_valid(const struct unwind_row *rows, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		if (rows[i].kind > ROW_IN_REGISTER || (i && rows[i].pc <= rows[i - 1].pc))
			return false;
	return true;
}

void rows_fini(struct rows *rows)
{
	free(rows->at);
	*rows = (struct rows){ 0 };
}
