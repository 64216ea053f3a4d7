/* SPDX-License-Identifier: Apache-2.0 */
/* Writes DWARF call frame information (DWARF 5 section 6.4) from Go's frame sizes. */
#include "elf/go_cfi.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "elf/cfi.h"
#include "elf/gopclntab.h"

enum {
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_UNDEFINED = 0x07,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_VAL_OFFSET = 0x14,
	CFA_OFFSET = 0x80,  /* | register */
	CFA_RESTORE = 0xc0, /* | register */

	FP = 6,
	SP = 7,
	RETURN_ADDRESS = 16,
};

#define CIE_ID   UINT32_MAX
#define ADDRESS  8 /* bytes */
#define LEN_SIZE 4

/* Version, augmentation, alignments of 1 and -8. The return address is at CFA - 8. */
static const u8 cie[] = {
	3, 0, 1, 0x78, RETURN_ADDRESS, CFA_DEF_CFA, SP, ADDRESS, CFA_OFFSET | RETURN_ADDRESS, 1
};

/* The same for a signal's frame: "zS" and no data. CFA = *(sp + 160), rsp in the ucontext. */
static const u8 signal_cie[] = {
	3, 'z', 'S', 0, 1, 0x78, RETURN_ADDRESS, 0, CFA_DEF_CFA_EXPRESSION, 4, 0x77, 0xa0, 1, 0x06
};

#define SIGNAL_CIE_AT (LEN_SIZE + 4 + sizeof(cie))

/* A function with a frame saves fp at its upper end (Go's cmd/internal/obj/x86/obj6.go). */
static const u8 with_frame[] = { CFA_OFFSET | FP, 2 };
static const u8 without_frame[] = { CFA_RESTORE | FP };

/* The rule of sp is what a CFA always means. Stated, it allows an sp below the present one. */
static const u8 switched[] = { CFA_DEF_CFA, FP, 16, CFA_OFFSET | FP, 2, CFA_VAL_OFFSET, SP, 0 };
static const u8 outermost[] = { CFA_UNDEFINED, RETURN_ADDRESS };

/* mov (%rbx),%rsp: gogo goes to the stack of a goroutine. What is at sp then is no address. */
static const u8 load_of_sp[] = { 0x48, 0x8b, 0x23 };
#define GOGO_LEN_MAX 256 /* bytes; gogo of Go 1.9 to 1.24 has 50 to 80 */

/* A function's entry that is being written. */
struct writer {
	struct str *out;
	u64 at; /* address that the instructions have reached */
};

static void add_uint(struct str *out, u64 value, size_t len)
{
	str_add_bytes(out, &value, len);
}

static void add_uleb(struct str *out, u32 value)
{
	for (; value >= 0x80; value >>= 7)
		str_add_char(out, (char)(value | 0x80));
	str_add_char(out, (char)value);
}

/* Writes the length of the entry that begins at `start`. */
static void end_entry(struct str *out, size_t start)
{
	u32 len = (u32)(out->len - start - LEN_SIZE);

	memcpy(out->at + start, &len, sizeof(len));
}

static void add_cie(struct str *out, const u8 *bytes, size_t len)
{
	size_t start = out->len;

	add_uint(out, 0, LEN_SIZE);
	add_uint(out, CIE_ID, 4);
	str_add_bytes(out, bytes, len);
	end_entry(out, start);
}

/* Begins a function's entry; its instructions follow. Returns its place for end_entry. */
static size_t begin_entry(struct str *out, u64 cie_at, u64 start, u64 end)
{
	size_t at = out->len;

	add_uint(out, 0, LEN_SIZE);
	add_uint(out, cie_at, 4);
	add_uint(out, start, ADDRESS);
	add_uint(out, end - start, ADDRESS);
	return at;
}

/* A go_frame_size_visit. */
static bool add_frame_size(void *arg, u64 start, u64 end, s32 bytes)
{
	struct writer *w = arg;

	if (start > w->at) {
		str_add_char(w->out, CFA_ADVANCE_LOC4);
		add_uint(w->out, start - w->at, 4);
		w->at = start;
	}
	str_add_char(w->out, CFA_DEF_CFA_OFFSET);
	add_uleb(w->out, (u32)bytes + ADDRESS);
	if (bytes >= ADDRESS)
		str_add_bytes(w->out, with_frame, sizeof(with_frame));
	else
		str_add_bytes(w->out, without_frame, sizeof(without_frame));
	return w->out->len <= CFI_SECTION_MAX;
}

/* Nothing calls it: it is looked up at the address before its start, as that of libc. */
static void add_signal_return(const struct go_function *f, struct str *out)
{
	size_t start = begin_entry(out, SIGNAL_CIE_AT, f->start - 1, f->end);

	str_add_char(out, 0); /* bytes of augmentation data */
	end_entry(out, start);
}

/* Says that nothing called `f` from its load of sp on, if it has one. */
static void add_left_stack(const struct elf *e, const struct go_function *f, struct writer *w)
{
	u8 code[GOGO_LEN_MAX];
	size_t len = f->end - f->start < sizeof(code) ? f->end - f->start : sizeof(code);
	const u8 *load = NULL;

	if (!elf_read_vaddr(e, f->start, code, len))
		load = memmem(code, len, load_of_sp, sizeof(load_of_sp));
	if (!load)
		return;
	u64 to = f->start + (u64)(load - code) + sizeof(load_of_sp);
	if (to < w->at) /* not Go's gogo: there the frame's size is the last one by then */
		return;
	str_add_char(w->out, CFA_ADVANCE_LOC4);
	add_uint(w->out, to - w->at, 4);
	str_add_bytes(w->out, outermost, sizeof(outermost));
}

static void add_function(const struct elf *e, const struct gopclntab *t,
			 const struct go_function *f, struct str *out)
{
	struct writer w = { .out = out, .at = f->start };

	if (f->frame == GO_FRAME_SIGNAL) {
		add_signal_return(f, out);
		return;
	}
	size_t start = begin_entry(out, 0, f->start, f->end);
	if (f->frame == GO_FRAME_OUTERMOST)
		str_add_bytes(out, outermost, sizeof(outermost));
	else if (f->frame == GO_FRAME_SWITCHED)
		str_add_bytes(out, switched, sizeof(switched));
	else if (!gopclntab_frame_sizes(t, f, add_frame_size, &w) && out->len <= CFI_SECTION_MAX) {
		out->len = start;
		return;
	}
	if (f->frame == GO_FRAME_LEFT)
		add_left_stack(e, f, &w);
	end_entry(out, start);
}

int go_cfi_make(const struct elf *e, void **out, size_t *len)
{
	auto_gopclntab struct gopclntab *t = NULL;
	auto_str struct str bytes = { 0 };
	struct go_function f;

	int err = gopclntab_read(e, &t);
	if (err)
		return err;
	add_cie(&bytes, cie, sizeof(cie));
	add_cie(&bytes, signal_cie, sizeof(signal_cie));
	for (u32 i = 0; i < gopclntab_nr(t) && bytes.len <= CFI_SECTION_MAX; i++)
		if (gopclntab_function(t, i, &f) && f.end - f.start <= UINT32_MAX)
			add_function(e, t, &f, &bytes);
	if (bytes.len > CFI_SECTION_MAX)
		return -EFBIG;
	*len = bytes.len;
	*out = str_take(&bytes);
	return 0;
}
