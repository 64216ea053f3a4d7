/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and reads the function table of Go programs. */
#include "elf/gopclntab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
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
	u8 offsets;      /* the header's: of funcname, cu, filetab, pctab, pcln; 0 if it has none */
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

/* Other linkers than Go's put the table into a section of other data. */
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

/* What the dynamic linker adds to the program's place and writes to `vaddr`. */
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
 * Go's runtime/asm_amd64.s, sys_linux_amd64.s and time_linux_amd64.s. Before Go 1.17 some of those
 * that switch have the fp of their caller, which is missing then. Those of cgo align sp for C. The
 * last four call the vdso.
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
