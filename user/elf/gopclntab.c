/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and reads the function table of Go programs, and writes DWARF 5 section 6.4 from it. */
#include "elf/gopclntab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "elf/cfi.h"
#include "elf/cursor.h"

#define HEADER_SIZE       72 /* of the newest version */
#define HEADER_ALIGN      8
#define RELOCATIONS_MAX   (64u << 20) /* bytes of a section */
#define NR_FUNCTIONS      8           /* pcHeader.nfunc */
#define FUNCTAB_OF_OLDEST 16          /* behind nfunc */
#define TEXT_IN_HEADER    24          /* pcHeader.textStart; unused from Go 1.26 on */
#define TEXT_IN_MODULE    176         /* moduledata.text */
#define OFFSET_SIZE       4           /* bytes of an entry that counts from the first function */
#define FRAME_MAX         (1 << 30)
#define VARINT32_BITS_MAX 28

struct version {
	u32 magic;
	u8 address_size; /* of the entries of functab and of _func.entry */
	u8 offsets;      /* where the header's offsets begin: funcname, cu, filetab, ..; 0: none */
};

static const struct version versions[] = {
	{ 0xfffffff1, 4, 32 }, /* 1.20 */
	{ 0xfffffff0, 4, 32 }, /* 1.18 */
	{ 0xfffffffa, 8, 24 }, /* 1.16 */
	{ 0xfffffffb, 8, 0 },  /* 1.2 */
};

struct gopclntab {
	const struct version *version;
	void *section; /* owned; the table lies in it */
	u8 *bytes;     /* the last is 0 */
	u64 nr_bytes;
	u64 text; /* address of the first function if entries count from it, else 0 */
	u32 nr;
	u64 functab, functions, names, frame_sizes; /* offsets in the table */
};

static struct cursor cursor_from(const struct gopclntab *t, u64 off)
{
	const u8 *end = t->bytes + t->nr_bytes;

	return (struct cursor){ .at = off < t->nr_bytes ? t->bytes + off : end, .end = end };
}

static u64 number_at(const struct gopclntab *t, u64 off, size_t len)
{
	struct cursor c = cursor_from(t, off);

	return cursor_uint(&c, len);
}

static const struct version *version_of(const u8 *header)
{
	u32 magic;

	memcpy(&magic, header, sizeof(magic));
	/* Two empty bytes, the least size of an instruction, the size of a pointer. */
	if (memcmp(header + sizeof(magic), (const u8[]){ 0, 0, 1, 8 }, 4))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		if (versions[i].magic == magic)
			return &versions[i];
	return NULL;
}

/* Searches a section for the table: linkers other than Go's put it among other data. */
static u64 search(const u8 *bytes, size_t len)
{
	for (size_t off = 0; len >= HEADER_SIZE && off <= len - HEADER_SIZE; off += HEADER_ALIGN)
		if (version_of(bytes + off))
			return off;
	return len;
}

/* Reads the table's bytes. *vaddr gets its address. */
static int read_bytes(const struct elf *e, struct gopclntab *t, u64 *vaddr)
{
	const struct elf_section *s =
		elf_section_find(e, ".gopclntab") ?: elf_section_find(e, ".data.rel.ro.gopclntab");
	size_t len;
	u64 off = 0;

	if (!s && elf_section_find(e, ".go.buildinfo"))
		s = elf_section_find(e, ".data.rel.ro");
	if (!s)
		return -ENOENT;
	int err = elf_section_read(e, s, GOPCLNTAB_MAX, &t->section, &len);
	if (err)
		return err == -ENODATA ? -ENOENT : err;
	if (!strcmp(s->name, ".data.rel.ro"))
		off = search(t->section, len);
	t->bytes = (u8 *)t->section + off;
	t->nr_bytes = len - off;
	*vaddr = s->vaddr + off;
	if (t->nr_bytes < HEADER_SIZE)
		return -ENOENT;
	t->bytes[t->nr_bytes - 1] = '\0';
	return 0;
}

static bool is_code(const struct elf *e, u64 vaddr)
{
	u64 left;
	const struct elf_segment *s = elf_segment_of(e, vaddr, &left);

	return s && s->flags & PF_X;
}

/*
 * The addend of the relocation at `vaddr`: the dynamic linker adds the load address and writes the
 * sum to `vaddr`.
 */
static bool find_addend(const struct elf *e, const char *section, u64 vaddr, u64 *out)
{
	const struct elf_section *s = elf_section_find(e, section);
	auto_free void *bytes = NULL;
	size_t len;

	if (!s || s->type != SHT_RELA || elf_section_read(e, s, RELOCATIONS_MAX, &bytes, &len))
		return false;
	for (size_t at = 0; len - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
		Elf64_Rela r;
		memcpy(&r, (char *)bytes + at, sizeof(r));
		if (r.r_offset == vaddr && ELF64_R_TYPE(r.r_info) == R_X86_64_RELATIVE) {
			*out = (u64)r.r_addend;
			return true;
		}
	}
	return false;
}

/* The pointer at `vaddr` in a program that is loaded at the addresses of its file; 0 if unknown. */
static u64 pointer_at(const struct elf *e, u64 vaddr)
{
	u64 value;

	if (find_addend(e, ".rela", vaddr, &value) || find_addend(e, ".rela.dyn", vaddr, &value) ||
	    !elf_read_vaddr(e, vaddr, &value, sizeof(value)))
		return value;
	return 0;
}

/* The address of the first Go function. */
static int find_text(const struct elf *e, u64 vaddr, u64 *out)
{
	const struct elf_section *module = elf_section_find(e, ".go.module");

	*out = pointer_at(e, vaddr + TEXT_IN_HEADER);
	if (!is_code(e, *out) && module && pointer_at(e, module->vaddr) == vaddr)
		*out = pointer_at(e, module->vaddr + TEXT_IN_MODULE);
	return is_code(e, *out) ? 0 : -ENOTSUP;
}

static int read_header(struct gopclntab *t)
{
	const struct version *v = t->version;
	u64 nr = number_at(t, NR_FUNCTIONS, 8);

	t->functab = FUNCTAB_OF_OLDEST;
	if (v->offsets) {
		t->names = number_at(t, v->offsets, 8);
		t->frame_sizes = number_at(t, v->offsets + 24, 8);
		t->functab = t->functions = number_at(t, v->offsets + 32, 8);
	}
	if (t->functab > t->nr_bytes || t->names > t->nr_bytes || t->frame_sizes > t->nr_bytes)
		return -EBADMSG;
	if (nr > GOPCLNTAB_FUNCTIONS_MAX)
		return -EFBIG;
	/* The address at which the last function ends follows the entries. */
	if (nr * 2 * v->address_size + v->address_size > t->nr_bytes - t->functab)
		return -EBADMSG;
	t->nr = (u32)nr;
	return 0;
}

int gopclntab_read(const struct elf *e, struct gopclntab **out)
{
	auto_gopclntab struct gopclntab *t = xcalloc(1, sizeof(*t));
	struct go_function first;
	u64 vaddr;

	if (elf_machine(e) != EM_X86_64 || !elf_is_64(e))
		return -ENOENT;
	int err = read_bytes(e, t, &vaddr);
	if (err)
		return err;
	t->version = version_of(t->bytes);
	if (!t->version)
		return -ENOTSUP;
	if (t->version->address_size == OFFSET_SIZE)
		err = find_text(e, vaddr, &t->text);
	if (!err)
		err = read_header(t);
	if (err)
		return err;
	if (t->nr && (!gopclntab_function(t, 0, &first) || !is_code(e, first.start)))
		return -ENOTSUP;
	*out = take(t);
	return 0;
}

void gopclntab_free(struct gopclntab *t)
{
	if (!t)
		return;
	free(t->section);
	free(t);
}

u32 gopclntab_nr(const struct gopclntab *t)
{
	return t->nr;
}

/*
 * Go's runtime/asm_amd64.s, sys_linux_amd64.s and time_linux_amd64.s. Before Go 1.17 some functions
 * that switch stacks have their caller's fp, so the caller is missing. The functions of cgo align
 * sp for C. The last four call the vdso.
 */
static enum go_frame frame_of(const char *name)
{
	static const struct {
		const char *name;
		enum go_frame frame;
	} known[] = {
		{ "runtime.goexit", GO_FRAME_OUTERMOST },
		{ "runtime.mcall", GO_FRAME_OUTERMOST },
		{ "runtime.morestack", GO_FRAME_OUTERMOST },
		{ "runtime.mstart", GO_FRAME_OUTERMOST },
		{ "runtime.rt0_go", GO_FRAME_OUTERMOST },
		{ "runtime.asmcgocall", GO_FRAME_SWITCHED },
		{ "runtime.systemstack", GO_FRAME_SWITCHED },
		{ "runtime.callCgoMmap", GO_FRAME_SWITCHED },
		{ "runtime.callCgoMunmap", GO_FRAME_SWITCHED },
		{ "runtime.callCgoSigaction", GO_FRAME_SWITCHED },
		{ "gogo", GO_FRAME_LEFT },
		{ "runtime.gogo", GO_FRAME_LEFT }, /* before Go 1.17; later ones jump to gogo */
		{ "runtime.sigreturn", GO_FRAME_SIGNAL },
		{ "runtime.sigreturn__sigaction", GO_FRAME_SIGNAL },
		{ "runtime.nanotime1", GO_FRAME_SWITCHED },
		{ "runtime.walltime", GO_FRAME_SWITCHED },
		{ "runtime.walltime1", GO_FRAME_SWITCHED },
		{ "time.now", GO_FRAME_SWITCHED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(name, known[i].name))
			return known[i].frame;
	return GO_FRAME_SIZED;
}

bool gopclntab_function(const struct gopclntab *t, u32 i, struct go_function *out)
{
	const struct version *v = t->version;
	u64 entry = t->functab + 2ull * i * v->address_size;
	u64 at = t->functions + number_at(t, entry + v->address_size, v->address_size);
	struct cursor c = cursor_from(t, at);

	cursor_skip(&c, v->address_size);
	u64 name = t->names + cursor_uint(&c, 4);
	cursor_skip(&c, 8); /* args, deferreturn */
	u64 frame_sizes = cursor_uint(&c, 4);
	if (c.is_bad || name >= t->nr_bytes)
		return false;
	*out = (struct go_function){
		.start = t->text + number_at(t, entry, v->address_size),
		.end = t->text + number_at(t, entry + 2ull * v->address_size, v->address_size),
		.name = (const char *)t->bytes + name,
		.frame = frame_of((const char *)t->bytes + name),
		.frame_sizes = t->frame_sizes + frame_sizes,
	};
	return out->start < out->end;
}

/* A number of at most 32 bits. Reading a longer one fails. */
static u32 varint(struct cursor *c)
{
	u32 value = 0;

	for (unsigned shift = 0; shift <= VARINT32_BITS_MAX; shift += 7) {
		u8 byte = cursor_u8(c);
		value |= (u32)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	c->is_bad = true;
	return 0;
}

static s32 unzigzag(u32 value)
{
	return (s32)(value >> 1 ^ -(value & 1));
}

bool gopclntab_frame_sizes(const struct gopclntab *t, const struct go_function *f,
			   go_frame_size_visit *visit, void *arg)
{
	struct cursor c = cursor_from(t, f->frame_sizes);
	s64 bytes = -1;

	for (u64 at = f->start; at < f->end;) {
		u32 change = varint(&c);
		if (!change && at != f->start)
			return true;
		bytes += unzigzag(change);
		u64 next = at + varint(&c);
		if (c.is_bad || next <= at || bytes < 0 || bytes > FRAME_MAX)
			return false;
		if (!visit(arg, at, next < f->end ? next : f->end, (s32)bytes))
			return false;
		at = next;
	}
	return true;
}

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

/*
 * The CIE of a signal's frame: augmentation "zS" without data. CFA = *(sp + 160), the rsp in the
 * ucontext.
 */
static const u8 signal_cie[] = {
	3, 'z', 'S', 0, 1, 0x78, RETURN_ADDRESS, 0, CFA_DEF_CFA_EXPRESSION, 4, 0x77, 0xa0, 1, 0x06
};

#define SIGNAL_CIE_AT (LEN_SIZE + 4 + sizeof(cie))

/* A function with a frame saves fp at its upper end (Go's cmd/internal/obj/x86/obj6.go). */
static const u8 with_frame[] = { CFA_OFFSET | FP, 2 };
static const u8 without_frame[] = { CFA_RESTORE | FP };

/*
 * The rule for sp states what the CFA means anyway. Stated as a rule, it allows the caller's sp to
 * lie below the present one.
 */
static const u8 switched[] = { CFA_DEF_CFA, FP, 16, CFA_OFFSET | FP, 2, CFA_VAL_OFFSET, SP, 0 };
static const u8 outermost[] = { CFA_UNDEFINED, RETURN_ADDRESS };

/* mov (%rbx),%rsp: gogo switches to a goroutine's stack. Its sp points to no return address. */
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

/*
 * Adds the function that returns from a signal handler. No code calls it, so its row is looked up
 * at the address before its start. The entry begins there, as in libc.
 */
static void add_signal_return(const struct go_function *f, struct str *out)
{
	size_t start = begin_entry(out, SIGNAL_CIE_AT, f->start - 1, f->end);

	str_add_char(out, 0); /* bytes of augmentation data */
	end_entry(out, start);
}

/* Makes `f` the outermost frame behind its load of sp. Does nothing if `f` has no such load. */
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
	if (to < w->at) /* this is not Go's gogo, whose frame size does not change after the load */
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
