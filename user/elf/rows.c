/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles call frame information to a table of unwind rows. Finds it by section headers, otherwise
 * by PT_GNU_EH_FRAME.
 */
#include "elf/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/auto.h"
#include "elf/cfi.h"
#include "elf/cursor.h"
#include "elf/elf.h"
#include "elf/functions.h"
#include "elf/gopclntab.h"

#define PAGE        4096u
#define HEADERS_MAX 65536u /* an image's ELF and program headers */
#define HDR_SIZE    16u    /* bytes read of .eh_frame_hdr: enough for its first pointer */
#define HDR_VERSION 1

/* The source of an image's bytes. */
struct origin {
	struct image_memory memory;
	u64 bias; /* address of a p_vaddr minus that p_vaddr */
};

/* The span of p_vaddr that the file describes. */
static int image_span(const struct elf *e, u64 *base, u32 *size)
{
	size_t nr;
	const struct elf_segment *segments = elf_segments(e, &nr);
	u64 lowest = UINT64_MAX, end = 0;

	if (elf_machine(e) != MACHINE_ELF || !elf_is_64(e))
		return -ENOEXEC;
	for (size_t i = 0; i < nr; i++) {
		const struct elf_segment *s = &segments[i];
		if (s->type != PT_LOAD || !s->memsz)
			continue;
		if (s->vaddr + s->memsz < s->vaddr)
			return -EBADMSG;
		if (s->vaddr < lowest)
			lowest = s->vaddr;
		if (s->vaddr + s->memsz > end)
			end = s->vaddr + s->memsz;
	}
	if (!end)
		return -ENODATA;
	lowest -= lowest % PAGE;
	if (end - lowest > UINT32_MAX)
		return -EFBIG;
	*base = lowest;
	*size = (u32)(end - lowest);
	return 0;
}

static int read_from_file(void *ctx, u64 vaddr, void *buf, size_t len)
{
	return elf_read_vaddr(ctx, vaddr, buf, len);
}

/* Finds .eh_frame's address through the .eh_frame_hdr of PT_GNU_EH_FRAME. */
static int eh_frame_vaddr(const struct elf *e, const struct origin *from, u64 *out)
{
	size_t nr;
	const struct elf_segment *s = elf_segments(e, &nr), *end = s + nr;
	u8 hdr[HDR_SIZE];

	while (s < end && s->type != PT_GNU_EH_FRAME)
		s++;
	if (s == end)
		return -ENODATA;
	if (s->filesz < 4)
		return -EBADMSG;
	size_t len = s->filesz < sizeof(hdr) ? s->filesz : sizeof(hdr);
	int err = from->memory.read(from->memory.ctx, s->vaddr + from->bias, hdr, len);
	if (err)
		return err;
	struct cursor c = { .at = hdr + 4, .end = hdr + len };
	if (hdr[0] != HDR_VERSION || !pointer_read(&c, hdr[1], s->vaddr + 4, out))
		return -EBADMSG;
	return 0;
}

/*
 * Without section headers the end of .eh_frame is unknown. This reads up to the end of the segment;
 * the terminator of .eh_frame ends the walk.
 */
static int read_by_header(const struct elf *e, const struct origin *from, struct cfi_input *out)
{
	u64 vaddr, left;

	int err = eh_frame_vaddr(e, from, &vaddr);
	if (err)
		return err;
	if (!elf_segment_of(e, vaddr, &left))
		return -EBADMSG;
	if (left > CFI_SECTION_MAX)
		return -EFBIG;
	auto_free u8 *data = xmalloc(left);
	err = from->memory.read(from->memory.ctx, vaddr + from->bias, data, left);
	if (err)
		return err;
	out->sections[0] = (struct cfi_section){ .data = take(data), .size = left, .vaddr = vaddr };
	out->nr = 1;
	return 0;
}

/* Adds the section. -ENOENT if the file does not contain it. */
static int add_section(const struct elf *e, const char *name, struct cfi_input *input)
{
	const struct elf_section *s = elf_section_find(e, name);
	void *data;
	size_t len;

	if (!s)
		return -ENOENT;
	int err = elf_section_read(e, s, CFI_SECTION_MAX, &data, &len);
	if (err)
		return err == -ENODATA ? -ENOENT : err;
	input->sections[input->nr++] = (struct cfi_section){
		.data = data,
		.size = len,
		.vaddr = s->vaddr,
		.is_debug_frame = !strcmp(name, ".debug_frame"),
	};
	return 0;
}

/*
 * .gopclntab comes before .debug_frame, because .debug_frame does not say where stacks of Go end.
 */
static void add_go(const struct elf *e, struct cfi_input *input)
{
	void *data;
	size_t len;

	if (!go_cfi_make(e, &data, &len))
		input->sections[input->nr++] =
			(struct cfi_section){ .data = data, .size = len, .is_debug_frame = true };
}

/* xor %rbp,%rbp; mov %rsp,%rdi; lea _DYNAMIC(%rip),%rsi; and $-16,%rsp; call */
static bool is_musl_start(const u8 code[18])
{
	return !memcmp(code, "\x48\x31\xed\x48\x89\xe7\x48\x8d\x35", 9) &&
	       !memcmp(code + 13, "\x48\x83\xe4\xf0\xe8", 5);
}

static void find_entry(const struct elf *e, struct cfi_input *input)
{
	u64 entry, left;
	u8 code[18];

	if (elf_read_at(e, offsetof(Elf64_Ehdr, e_entry), &entry, sizeof(entry)) ||
	    entry - input->base >= input->size)
		return;
	input->entry = (u32)(entry - input->base);
	if (elf_read_vaddr(e, entry, code, sizeof(code)) || !is_musl_start(code) ||
	    !elf_segment_of(e, entry, &left) || left > input->size - input->entry)
		return;
	input->musl_end = input->entry + (u32)left;
}

int cfi_input_of_file(const struct elf *e, struct cfi_input *out)
{
	auto_cfi_input struct cfi_input input = { 0 };

	int err = image_span(e, &input.base, &input.size);
	if (!err)
		err = add_section(e, ".eh_frame", &input);
	if (err && err != -ENOENT)
		return err;
	find_entry(e, &input);
	/* Ignore errors of this section: it only adds to .eh_frame, which has most functions. */
	add_go(e, &input);
	add_section(e, ".debug_frame", &input);
	if (!input.nr) {
		const struct origin from = { .memory = { read_from_file, (void *)e } };
		err = read_by_header(e, &from, &input);
		if (err)
			return err;
	}
	*out = input;
	input.nr = 0;
	return 0;
}

/* Reads the ELF header and the program headers, but not the data they refer to. */
static int read_headers(const struct origin *from, u64 load_addr, void **out, size_t *len)
{
	Elf64_Ehdr ehdr;

	int err = from->memory.read(from->memory.ctx, load_addr, &ehdr, sizeof(ehdr));
	if (err)
		return err;
	if (memcmp(ehdr.e_ident, ELFMAG, SELFMAG) || ehdr.e_ident[EI_CLASS] != ELFCLASS64)
		return -ENOEXEC;
	size_t table = (size_t)ehdr.e_phnum * sizeof(Elf64_Phdr);
	if (ehdr.e_phoff < sizeof(ehdr) || ehdr.e_phoff > HEADERS_MAX ||
	    table > HEADERS_MAX - ehdr.e_phoff)
		return -EBADMSG;
	ehdr.e_shoff = ehdr.e_shnum = ehdr.e_shstrndx = 0;
	*len = ehdr.e_phoff + table;
	auto_free u8 *headers = xmalloc(*len);
	err = from->memory.read(from->memory.ctx, load_addr, headers, *len);
	if (err)
		return err;
	/* Keeps the checked header: the second read may have returned other bytes. */
	memcpy(headers, &ehdr, sizeof(ehdr));
	*out = take(headers);
	return 0;
}

int cfi_input_of_image(struct image_memory memory, u64 load_addr, struct cfi_input *out)
{
	struct origin from = { .memory = memory };
	struct cfi_input input = { 0 };
	auto_free void *headers = NULL;
	size_t len;

	int err = read_headers(&from, load_addr, &headers, &len);
	if (err)
		return err;
	auto_elf struct elf *e = NULL;
	err = elf_open_memory(headers, len, &e);
	if (!err)
		err = image_span(e, &input.base, &input.size);
	if (err)
		return err;
	from.bias = load_addr - input.base;
	err = read_by_header(e, &from, &input);
	if (!err)
		*out = input;
	return err;
}

void cfi_input_fini(struct cfi_input *input)
{
	while (input->nr)
		free((void *)input->sections[--input->nr].data);
}

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

/*
 * Sorts by start. For the same start, .eh_frame comes before .debug_frame; then the order of the
 * file decides.
 */
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
		/*
		 * The code before the first function gets a row only if the row differs from "no
		 * rule".
		 */
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

/*
 * Adds the rows of a function of arm64's vdso. All but getrandom have no frame
 * (arch/arm64/kernel/vdso).
 */
static void add_vdso_function(void *ctx, const Elf64_Sym *symbol, const char *name)
{
	struct table *t = ctx;
	struct unwind_row row = { .pc = (u32)symbol->st_value, .kind = ROW_SP };

	if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_size &&
	    !strcmp(name, "__kernel_rt_sigreturn"))
		row.kind = ROW_SIGNAL;
	else if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !symbol->st_size ||
		 strcmp(name, "__kernel_getrandom") == 0)
		return;
	vec_push(&t->rows, row);
	row = (struct unwind_row){ .pc = (u32)(symbol->st_value + symbol->st_size) };
	vec_push(&t->rows, row);
}

/* A rule at the same address replaces the end of the function before it. */
static int compare_rows(const void *a, const void *b)
{
	const struct unwind_row *x = a, *y = b;

	return x->pc != y->pc ? (x->pc < y->pc ? -1 : 1)
			      : (y->kind != ROW_NONE) - (x->kind != ROW_NONE);
}

/* The rows of an arm64 vdso, by its symbols: Linux 6.12 has no call frame information there. */
static int rows_of_vdso(const Elf64_Ehdr *image, struct rows *out)
{
	auto_elf struct elf *e = NULL;
	struct table functions = { 0 }, table = { 0 };
	struct cfi none = { 0 };

	int err = elf_open_memory(image, image->e_shoff + (u64)image->e_shnum * image->e_shentsize,
				  &e);
	err = err ?: symbol_table_each(e, ".dynsym", add_vdso_function, &functions);
	if (!err && !functions.rows.nr)
		err = -ENODATA;
	if (!err) {
		qsort(functions.rows.at, functions.rows.nr, sizeof(functions.rows.at[0]),
		      compare_rows);
		vec_each(row, &functions.rows)
			if (!table.rows.nr || table.rows.at[table.rows.nr - 1].pc < row->pc)
				add_row(&table, *row);
		finish(&none, &table, out);
	}
	vec_fini(&functions.rows);
	return err;
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
	int err = rows_build_image((struct image_memory){ .read = read_own_memory }, addr, out);
	return err == -ENODATA && !CALL_PUSHES ? rows_of_vdso((const void *)addr, out) : err;
}

/*
 * The trampoline is (arch/x86/kernel/uprobes.c): push rcx, r11, rax; mov; syscall; pop rax, r11,
 * rcx; ret.
 */
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
		if (rows[i].kind > ROW_LINK || (i && rows[i].pc <= rows[i - 1].pc))
			return false;
	return true;
}

void rows_fini(struct rows *rows)
{
	free(rows->at);
	*rows = (struct rows){ 0 };
}
