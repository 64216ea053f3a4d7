/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an ELF image from a process's memory. */
#include "elf/image.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define PHDRS_MAX    64
#define DYNAMIC_MAX  256 /* entries */
#define NOTES_MAX    4096
#define CHAIN_MAX    100000 /* steps in one hash chain; a damaged chain may be a ring */
#define NAME_MAX_LEN 256
/* bytes of relocations that are read at once, and of one image */
#define RELOCATIONS_AT_ONCE 256
#define RELOCATIONS_MAX     (1u << 18)
#define TLS_BYTES_MAX       (1ll << 31)
#define MODULES_MAX         (1u << 16)
#define INTERPRETER_LEN     128

static int read_at(const struct image *img, u64 addr, void *buf, size_t len)
{
	return img->memory.read(img->memory.ctx, addr, buf, len);
}

/* glibc adds the bias to the addresses in PT_DYNAMIC; musl leaves them as in the file. */
static u64 run_time(const struct image *img, u64 addr)
{
	return addr >= img->start && addr < img->end ? addr : addr + img->bias;
}

static void read_build_id(struct image *img, u64 addr, u64 size)
{
	u8 notes[NOTES_MAX];

	size = size < sizeof(notes) ? size : sizeof(notes);
	if (read_at(img, addr, notes, size))
		return;
	for (u64 at = 0; at + sizeof(Elf64_Nhdr) <= size;) {
		Elf64_Nhdr note;

		memcpy(&note, notes + at, sizeof(note));
		u64 name = at + sizeof(note), desc = name + ((note.n_namesz + 3ull) & ~3ull);
		u64 next = desc + ((note.n_descsz + 3ull) & ~3ull);
		if (next > size)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4) && note.n_descsz <= IMAGE_BUILD_ID_MAX) {
			memcpy(img->build_id, notes + desc, note.n_descsz);
			img->build_id_len = note.n_descsz;
			return;
		}
		at = next;
	}
}

static void find_data(struct image *img, const Elf64_Phdr *phdrs, u32 nr)
{
	for (u32 i = 0; i < nr; i++) {
		u64 start = phdrs[i].p_vaddr + img->bias, end = start + phdrs[i].p_memsz;

		if (phdrs[i].p_type != PT_LOAD || !(phdrs[i].p_flags & PF_W) || start >= end ||
		    start < img->start || end > img->end)
			continue;
		if (!img->data_start || start < img->data_start)
			img->data_start = start;
		if (end > img->data_end)
			img->data_end = end;
	}
}

/* The size of the thread-local block, as the static linker places it below the thread pointer. */
static u64 tls_size(const Elf64_Phdr *p)
{
	u64 align = p->p_align && !(p->p_align & (p->p_align - 1)) ? p->p_align : 1;

	return p->p_memsz < TLS_BYTES_MAX && align < TLS_BYTES_MAX
		       ? (p->p_memsz + align - 1) & ~(align - 1)
		       : 0;
}

static bool is_musl(const struct image *img, const Elf64_Phdr *p)
{
	char path[INTERPRETER_LEN] = "";
	size_t len = p->p_filesz < sizeof(path) ? p->p_filesz : sizeof(path) - 1;

	return !read_at(img, p->p_vaddr + img->bias, path, len) && strstr(path, "/ld-musl");
}

/* Computes the bias from the lowest PT_LOAD first; everything else depends on it. */
static int read_segments(struct image *img, u64 base, const Elf64_Phdr *phdrs, u32 nr)
{
	u64 low = UINT64_MAX, high = 0;

	for (u32 i = 0; i < nr; i++) {
		const Elf64_Phdr *p = &phdrs[i];

		if (p->p_type != PT_LOAD || p->p_vaddr + p->p_memsz < p->p_vaddr)
			continue;
		low = p->p_vaddr < low ? p->p_vaddr : low;
		high = p->p_vaddr + p->p_memsz > high ? p->p_vaddr + p->p_memsz : high;
	}
	if (low >= high)
		return -ENOEXEC;
	img->bias = base - (low & ~0xfffull);
	img->start = base;
	img->end = high + img->bias;
	find_data(img, phdrs, nr);
	for (u32 i = 0; i < nr; i++) {
		if (phdrs[i].p_type == PT_DYNAMIC) {
			img->dynamic = phdrs[i].p_vaddr + img->bias;
			img->dynamic_size = phdrs[i].p_memsz;
		} else if (phdrs[i].p_type == PT_NOTE && !img->build_id_len) {
			read_build_id(img, phdrs[i].p_vaddr + img->bias, phdrs[i].p_memsz);
		} else if (phdrs[i].p_type == PT_TLS) {
			img->tls_size = tls_size(&phdrs[i]);
		} else if (phdrs[i].p_type == PT_INTERP) {
			img->is_musl = is_musl(img, &phdrs[i]);
		}
	}
	return img->dynamic ? 0 : -ENOENT;
}

static int read_dynamic(struct image *img)
{
	Elf64_Dyn entries[DYNAMIC_MAX];
	u64 nr = img->dynamic_size / sizeof(entries[0]);

	nr = nr < DYNAMIC_MAX ? nr : DYNAMIC_MAX;
	int err = read_at(img, img->dynamic, entries, nr * sizeof(entries[0]));
	if (err)
		return err;
	for (u64 i = 0; i < nr && entries[i].d_tag != DT_NULL; i++) {
		u64 value = entries[i].d_un.d_val;

		switch (entries[i].d_tag) {
		case DT_SYMTAB:
			img->symtab = run_time(img, value);
			break;
		case DT_STRTAB:
			img->strtab = run_time(img, value);
			break;
		case DT_STRSZ:
			img->strtab_size = value;
			break;
		case DT_GNU_HASH:
			img->gnu_hash = run_time(img, value);
			break;
		case DT_HASH:
			img->hash = run_time(img, value);
			break;
		case DT_RELA:
		case DT_JMPREL:
			img->relocations[entries[i].d_tag == DT_JMPREL] = run_time(img, value);
			break;
		case DT_RELASZ:
		case DT_PLTRELSZ:
			img->relocations_size[entries[i].d_tag == DT_PLTRELSZ] = value;
			break;
		case DT_DEBUG: /* linkers make it in programs only */
			img->is_program = true;
			break;
		}
	}
	return img->symtab && img->strtab && (img->gnu_hash || img->hash) ? 0 : -ENOENT;
}

int image_read(struct image_memory memory, u64 base, struct image *out)
{
	struct image img = { .memory = memory };
	Elf64_Phdr phdrs[PHDRS_MAX];
	Elf64_Ehdr head;
	int err = read_at(&img, base, &head, sizeof(head));

	if (err)
		return err;
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_phentsize != sizeof(phdrs[0]) ||
	    !head.e_phnum || head.e_phnum > PHDRS_MAX)
		return -ENOEXEC;
	err = read_at(&img, base + head.e_phoff, phdrs, head.e_phnum * sizeof(phdrs[0]));
	if (err)
		return err;
	err = read_segments(&img, base, phdrs, head.e_phnum);
	if (err)
		return err;
	err = read_dynamic(&img);
	if (err)
		return err;
	*out = img;
	return 0;
}

/* A symbol and its number. */
struct found {
	Elf64_Sym symbol;
	u32 number;
};

/* Whether symbol `i` is the definition of that name: 0 and the symbol, or -ENOENT. */
static int match_symbol(const struct image *img, u32 i, const char *name, struct found *out)
{
	size_t len = strlen(name) + 1;
	char text[NAME_MAX_LEN];
	Elf64_Sym sym;
	int err = read_at(img, img->symtab + i * sizeof(sym), &sym, sizeof(sym));

	if (err)
		return err;
	if (len > sizeof(text) || sym.st_shndx == SHN_UNDEF || sym.st_name >= img->strtab_size ||
	    len > img->strtab_size - sym.st_name)
		return -ENOENT;
	err = read_at(img, img->strtab + sym.st_name, text, len);
	if (err)
		return err;
	if (memcmp(text, name, len) != 0)
		return -ENOENT;
	*out = (struct found){ sym, i };
	return 0;
}

/* The table's layout: nbuckets, symoffset, bloom_size, bloom_shift, bloom[], buckets[], chain[]. */
static int find_gnu(const struct image *img, const char *name, struct found *out)
{
	u32 head[4], hash = 5381, index, value;
	int err = read_at(img, img->gnu_hash, head, sizeof(head));

	if (err)
		return err;
	if (!head[0] || !head[2])
		return -ENOENT;
	for (const u8 *p = (const u8 *)name; *p; p++)
		hash = hash * 33 + *p;
	u64 buckets = img->gnu_hash + sizeof(head) + 8ull * head[2];
	u64 chain = buckets + 4ull * head[0];
	err = read_at(img, buckets + 4ull * (hash % head[0]), &index, sizeof(index));
	if (err)
		return err;
	if (index < head[1])
		return -ENOENT;
	for (u32 steps = 0; steps < CHAIN_MAX; steps++, index++) {
		err = read_at(img, chain + 4ull * (index - head[1]), &value, sizeof(value));
		if (err)
			return err;
		if ((value | 1) == (hash | 1)) {
			err = match_symbol(img, index, name, out);
			if (err != -ENOENT)
				return err;
		}
		if (value & 1)
			break;
	}
	return -ENOENT;
}

/* nbucket, nchain, buckets[], chain[] (gABI). */
static int find_sysv(const struct image *img, const char *name, struct found *out)
{
	u32 head[2], hash = 0, index;
	int err = read_at(img, img->hash, head, sizeof(head));

	if (err)
		return err;
	if (!head[0])
		return -ENOENT;
	for (const u8 *p = (const u8 *)name; *p; p++) {
		hash = (hash << 4) + *p;
		hash = (hash ^ (hash & 0xf0000000) >> 24) & 0x0fffffff;
	}
	u64 at = img->hash + sizeof(head) + 4ull * (hash % head[0]);
	for (u32 steps = 0; steps < CHAIN_MAX; steps++) {
		err = read_at(img, at, &index, sizeof(index));
		if (err)
			return err;
		if (!index || index >= head[1])
			return -ENOENT;
		err = match_symbol(img, index, name, out);
		if (err != -ENOENT)
			return err;
		at = img->hash + sizeof(head) + 4ull * head[0] + 4ull * index;
	}
	return -ENOENT;
}

static int find(const struct image *img, const char *name, struct found *out)
{
	return img->gnu_hash ? find_gnu(img, name, out) : find_sysv(img, name, out);
}

int image_find_symbol(const struct image *img, const char *name, u64 *addr)
{
	struct found found;
	int err = find(img, name, &found);

	if (!err)
		*addr = found.symbol.st_value + img->bias;
	return err;
}

/* Below the thread pointer, as x86-64 has it. */
static bool is_static_offset(s64 offset)
{
	return offset < 0 && offset >= -TLS_BYTES_MAX;
}

static int module_at(u64 module, u64 offset, struct image_tls *out)
{
	if (!module)
		return -EAGAIN;
	if (module > MODULES_MAX || offset >= TLS_BYTES_MAX)
		return -EBADMSG;
	*out = (struct image_tls){ (u32)module, (s64)offset };
	return 0;
}

static int static_at(s64 offset, struct image_tls *out)
{
	if (!is_static_offset(offset))
		return offset ? -EBADMSG : -EAGAIN;
	*out = (struct image_tls){ 0, offset };
	return 0;
}

/*
 * The second word of a descriptor is an offset from the thread pointer, or leads to the number of a
 * module and an offset (glibc's struct tlsdesc_dynamic_arg, and the same in musl).
 */
static int resolve_descriptor(const struct image *img, u64 argument, s64 more,
			      struct image_tls *out)
{
	u64 index[2];

	if (is_static_offset((s64)argument))
		return static_at((s64)argument + more, out);
	if (!argument)
		return -EAGAIN;
	int err = read_at(img, argument, index, sizeof(index));
	return err ? err : module_at(index[0], index[1] + (u64)more, out);
}

/*
 * The place of the variable, if the relocation tells it: one of that symbol, or one without a
 * symbol, which is of the image itself. -ENOENT for all others.
 */
static int resolve(const struct image *img, const Elf64_Rela *r, const struct found *of,
		   struct image_tls *out)
{
	u32 type = ELF64_R_TYPE(r->r_info), symbol = ELF64_R_SYM(r->r_info);
	s64 value = symbol ? 0 : (s64)of->symbol.st_value, more = value - r->r_addend;
	u64 words[2];

	if ((type != R_X86_64_TLSDESC && type != R_X86_64_DTPMOD64 && type != R_X86_64_TPOFF64) ||
	    (symbol && symbol != of->number))
		return -ENOENT;
	int err = read_at(img, r->r_offset + img->bias, words,
			  type == R_X86_64_TPOFF64 ? sizeof(words[0]) : sizeof(words));
	if (err)
		return err;
	if (type == R_X86_64_TPOFF64)
		return words[0] ? static_at((s64)words[0] + more, out) : -EAGAIN;
	if (type == R_X86_64_TLSDESC)
		return resolve_descriptor(img, words[1], more, out);
	return module_at(words[0], symbol ? words[1] : (u64)value, out);
}

/* Looks at one table of relocations. */
static int find_resolved(const struct image *img, u64 at, u64 nr, const struct found *of,
			 struct image_tls *out)
{
	Elf64_Rela some[RELOCATIONS_AT_ONCE];
	int result = -ENOENT;

	nr = nr < RELOCATIONS_MAX ? nr : RELOCATIONS_MAX;
	for (u64 i = 0; i < nr; i++) {
		u64 n = i % RELOCATIONS_AT_ONCE, left = nr - i;
		if (!n) {
			left = left < RELOCATIONS_AT_ONCE ? left : RELOCATIONS_AT_ONCE;
			int err = read_at(img, at + i * sizeof(some[0]), some,
					  left * sizeof(some[0]));
			if (err)
				return err;
		}
		int err = resolve(img, &some[n], of, out);
		if (!err)
			return 0;
		if (err != -ENOENT)
			result = err;
	}
	return result;
}

int image_find_tls(const struct image *img, const char *name, struct image_tls *out)
{
	struct found of;
	int result = find(img, name, &of);

	if (result)
		return result;
	if (ELF64_ST_TYPE(of.symbol.st_info) != STT_TLS || of.symbol.st_value >= img->tls_size)
		return -ENOENT;
	if (img->is_program) /* its block is the first below the thread pointer */
		return static_at((s64)of.symbol.st_value - (s64)img->tls_size, out);
	result = -ENOENT;
	for (int i = 0; i < 2; i++) {
		int err = find_resolved(img, img->relocations[i],
					img->relocations_size[i] / sizeof(Elf64_Rela), &of, out);
		if (!err)
			return 0;
		if (err != -ENOENT)
			result = err;
	}
	return result == -ENOENT ? -EBADMSG : result;
}
