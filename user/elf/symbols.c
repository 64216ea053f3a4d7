/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the table of a module's functions: collects symbols, sorts them, flattens overlaps. */
#include "elf/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dict.h"
#include "base/str.h"
#include "base/vec.h"
#include "elf/elf.h"
#include "elf/functions.h"
#include "elf/gopclntab.h"

/* Receives a jump, [vaddr, vaddr + size), and the name of its function. */
typedef void plt_visit(void *arg, u64 vaddr, u32 size, const char *function);

#define MAX_PLT     (4u << 20)
#define MAX_RELOCS  (64u << 20)
#define MAX_STRINGS (64u << 20)

/*
 * Finds the function behind each jump of the PLT. The jump reads a slot of the GOT; a relocation
 * names the function that the dynamic linker puts into that slot (x86-64 psABI 5.2). This holds for
 * all forms that linkers write: lazy or bound at once, with or without endbr64.
 */
struct plt {
	const struct elf *e;
	struct dict symbol_of_slot;
	char *strings; /* .dynstr, ends in a NUL */
	size_t strings_len;
	Elf64_Sym *symbols;
	size_t nr_symbols;
};

static void add_slots(struct plt *p, const char *section)
{
	const struct elf_section *s = elf_section_find(p->e, section);
	auto_free void *data = NULL;
	size_t len;

	if (!s || s->type != SHT_RELA || elf_section_read(p->e, s, MAX_RELOCS, &data, &len))
		return;
	for (size_t at = 0; len - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
		Elf64_Rela r;
		memcpy(&r, (char *)data + at, sizeof(r));
		u32 type = ELF64_R_TYPE(r.r_info);
		if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT)
			*dict_add(&p->symbol_of_slot, r.r_offset) = ELF64_R_SYM(r.r_info);
	}
}

static bool read_symbols(struct plt *p)
{
	const struct elf_section *syms = elf_section_find(p->e, ".dynsym");
	const struct elf_section *strs = elf_section_find(p->e, ".dynstr");
	auto_free void *symbols = NULL, *strings = NULL;
	size_t len;

	if (!syms || !strs || elf_section_read(p->e, syms, MAX_STRINGS, &symbols, &len))
		return false;
	p->nr_symbols = len / sizeof(Elf64_Sym);
	if (elf_section_read(p->e, strs, MAX_STRINGS, &strings, &p->strings_len) || !p->strings_len)
		return false;
	((char *)strings)[p->strings_len - 1] = '\0';
	p->symbols = take(symbols);
	p->strings = take(strings);
	return true;
}

static const char *function_of_slot(const struct plt *p, u64 slot)
{
	const u64 *i = dict_find(&p->symbol_of_slot, slot);

	if (!i || *i >= p->nr_symbols || p->symbols[*i].st_name >= p->strings_len)
		return NULL;
	const char *name = p->strings + p->symbols[*i].st_name;
	return *name ? name : NULL;
}

/* The GOT slot that a PLT entry jumps through: [endbr64] [bnd] jmp *disp32(%rip). */
static bool slot_of(const u8 *code, size_t len, u64 vaddr, u64 *slot)
{
	static const u8 endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = 0;
	s32 disp;

	if (len >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)))
		at = sizeof(endbr64);
	if (at < len && code[at] == 0xf2)
		at++;
	if (len - at < 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	memcpy(&disp, code + at + 2, sizeof(disp));
	*slot = vaddr + at + 6 + (u64)(s64)disp;
	return true;
}

static void visit_section(const struct plt *p, const char *section, plt_visit *visit, void *arg)
{
	const struct elf_section *s = elf_section_find(p->e, section);
	auto_free void *code = NULL;
	size_t len;

	if (!s || elf_section_read(p->e, s, MAX_PLT, &code, &len))
		return;
	u32 step = s->entsize == 8 ? 8 : 16;
	for (size_t at = 0; len - at >= step; at += step) {
		u64 slot;
		if (!slot_of((u8 *)code + at, step, s->vaddr + at, &slot))
			continue;
		const char *function = function_of_slot(p, slot);
		if (function)
			visit(arg, s->vaddr + at, step, function);
	}
}

/*
 * Visits the entries of .plt, .plt.sec and .plt.got. Visits nothing on other machines than x86-64.
 */
static void plt_each(const struct elf *e, plt_visit *visit, void *arg)
{
	struct plt p = { .e = e };

	if (elf_machine(e) != EM_X86_64 || !elf_is_64(e))
		return;
	if (read_symbols(&p)) {
		add_slots(&p, ".rela.plt");
		add_slots(&p, ".rela.dyn");
		visit_section(&p, ".plt", visit, arg);
		visit_section(&p, ".plt.sec", visit, arg);
		visit_section(&p, ".plt.got", visit, arg);
	}
	dict_fini(&p.symbol_of_slot);
	free(p.symbols);
	free(p.strings);
}

#define MAX_NAME    4096
#define MAX_SOURCES 8
#define CHUNK_NR    2048 /* symbols per read */
/* limit of a table, as a multiple of the room: a sparse file may claim any size */
#define MAX_USELESS  4
#define NAME_IN_POOL UINT8_MAX
#define SOURCE_MADE  0 /* names that no symbol table has: of the PLT, and of Go's functions */
#define NAMELESS     (1u << 31) /* the rest of range.name is the function's start, from the base */

/* [start, end), counted from the table's base. */
struct range {
	u32 start, end;
	u32 name; /* offset into the pool, or NAMELESS */
};

struct symbols {
	u64 base, end; /* [base, end): from the lowest address of the code to the highest */
	struct range *at;
	size_t nr;
	char *pool;
	size_t pool_len;
	u32 roles_start, roles_end; /* [start, end) of the pool: names found by role */
	u32 guesses_end;            /* [roles_end, guesses_end): inferred names */
	/* buffer that symbols_decode took over; `at` and `pool` lie in it */
	void *encoded;
};

enum symbol_class {
	CLASS_EXPORTED,
	CLASS_LOCAL,
	CLASS_ROLE,
	CLASS_LABEL,
	CLASS_GUESS,
	CLASS_NAMELESS,
};

struct symbol_entry {
	u64 addr;
	u32 size; /* 0 0 if unknown: then the function ends at `limit` at the latest */
	u32 limit;
	u32 name; /* in the strings of `source`, or in the pool */
	u16 name_len;
	u8 underscores;
	u8 class;
	u8 source; /* or NAME_IN_POOL */
};

struct builder {
	const struct elf *module;
	u64 base, end;
	size_t max_bytes;
	bool is_stripped;
	VEC(struct symbol_entry) all;
	char *strings[MAX_SOURCES];
	size_t strings_len[MAX_SOURCES];
	u8 nr_sources;
	struct str made_names;
	VEC(u64) starts; /* of all functions of a stripped file, ascending */
	u32 roles_end, guesses_end;
	VEC(struct range) ranges;
	struct str pool;
};

/* The bytes of code from `addr` to the end of its executable segment; 0 outside such segments. */
static u64 code_after(const struct builder *b, u64 addr)
{
	size_t nr;
	const struct elf_segment *segments = elf_segments(b->module, &nr);

	for (size_t i = 0; i < nr; i++) {
		const struct elf_segment *p = &segments[i];
		if (p->type == PT_LOAD && (p->flags & PF_X) && addr >= p->vaddr &&
		    addr - p->vaddr < p->memsz)
			return p->memsz - (addr - p->vaddr);
	}
	return 0;
}

/* From the lowest address of the code to the highest; [UINT64_MAX, 0) without code. */
static void find_code(const struct elf *e, u64 *start, u64 *end)
{
	size_t nr;
	const struct elf_segment *segments = elf_segments(e, &nr);

	*start = UINT64_MAX;
	*end = 0;
	for (size_t i = 0; i < nr; i++) {
		const struct elf_segment *p = &segments[i];
		if (p->type != PT_LOAD || !(p->flags & PF_X))
			continue;
		if (p->vaddr < *start)
			*start = p->vaddr;
		if (p->vaddr + p->memsz > *end)
			*end = p->vaddr + p->memsz;
	}
}

static u32 clip(u64 value, u64 max)
{
	if (value > max)
		value = max;
	return value > UINT32_MAX ? UINT32_MAX : (u32)value;
}

/* Labels of assemblers: ".L1"; "$x", "$d" and the like mark code and data on ARM and RISC-V. */
static bool is_assemblers(const char *name)
{
	return !*name || *name == '$' || (name[0] == '.' && name[1] == 'L');
}

/* Returns false if there are too many. */
static bool add(struct builder *b, struct symbol_entry e, const char *name, u64 size,
		u64 section_rest)
{
	u64 rest = code_after(b, e.addr);

	if (!rest || e.addr < b->base || e.addr - b->base > UINT32_MAX)
		return true;
	if (b->all.nr >= b->max_bytes / sizeof(struct range))
		return false;
	e.limit = clip(section_rest ? section_rest : rest, rest);
	e.size = clip(size, rest);
	e.name_len = (u16)strnlen(name, MAX_NAME);
	while (e.underscores < UINT8_MAX && name[e.underscores] == '_')
		e.underscores++;
	vec_push(&b->all, e);
	return true;
}

/* The symbol table that is being read. */
struct table {
	const struct elf *from;
	const struct elf_section *sections;
	size_t nr_sections;
	u64 shift; /* difference between the module's addresses and this table's */
	u8 source;
};

/* NULL if unknown: objcopy removes sections without correcting the numbers in .dynsym. */
static const struct elf_section *section_of(const struct table *t, const Elf64_Sym *sym)
{
	const struct elf_section *s =
		sym->st_shndx < t->nr_sections ? &t->sections[sym->st_shndx] : NULL;

	return s && sym->st_value >= s->vaddr && sym->st_value - s->vaddr < s->size ? s : NULL;
}

static bool add_symbol(struct builder *b, const struct table *t, const Elf64_Sym *sym)
{
	struct symbol_entry e = { .addr = sym->st_value + t->shift, .source = t->source };
	unsigned type = ELF64_ST_TYPE(sym->st_info), bind = ELF64_ST_BIND(sym->st_info);
	u64 section_rest = 0;

	if ((type != STT_FUNC && type != STT_NOTYPE) || sym->st_shndx == SHN_UNDEF ||
	    sym->st_name >= b->strings_len[t->source])
		return true;
	const struct elf_section *in = section_of(t, sym);
	if (in ? !(in->flags & SHF_EXECINSTR) : type == STT_NOTYPE)
		return true;
	if (in)
		section_rest = in->size - (sym->st_value - in->vaddr);
	if (is_assemblers(b->strings[t->source] + sym->st_name))
		return true;
	e.class = type == STT_NOTYPE  ? CLASS_LABEL
		  : bind == STB_LOCAL ? CLASS_LOCAL
				      : CLASS_EXPORTED;
	e.name = sym->st_name;
	return add(b, e, b->strings[t->source] + sym->st_name, sym->st_size, section_rest);
}

static Elf64_Sym symbol_of(const struct elf *e, const u8 *raw)
{
	Elf64_Sym sym;

	if (elf_is_64(e)) {
		memcpy(&sym, raw, sizeof(sym));
		return sym;
	}
	Elf32_Sym narrow;
	memcpy(&narrow, raw, sizeof(narrow));
	return (Elf64_Sym){ narrow.st_name,  narrow.st_info,  narrow.st_other,
			    narrow.st_shndx, narrow.st_value, narrow.st_size };
}

/* Returns false if the table is damaged or too large. The caller then removes its symbols. */
static bool add_symbols(struct builder *b, const struct table *t, const struct elf_section *s)
{
	size_t size = elf_is_64(t->from) ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	auto_free u8 *chunk = xmalloc(CHUNK_NR * size);

	if (s->size / size > MAX_USELESS * (b->max_bytes / sizeof(struct range)))
		return false;
	for (u64 at = 0; at + size <= s->size;) {
		size_t nr = (s->size - at) / size < CHUNK_NR ? (s->size - at) / size : CHUNK_NR;
		if (elf_read_at(t->from, s->file_off + at, chunk, nr * size))
			return false;
		for (size_t i = 0; i < nr; i++) {
			Elf64_Sym sym = symbol_of(t->from, chunk + i * size);
			if (!add_symbol(b, t, &sym))
				return false;
		}
		at += nr * size;
	}
	return true;
}

static bool first_load(const struct elf *e, u64 *vaddr)
{
	size_t nr;
	const struct elf_segment *segments = elf_segments(e, &nr);

	for (size_t i = 0; i < nr; i++) {
		if (segments[i].type == PT_LOAD) {
			*vaddr = segments[i].vaddr;
			return true;
		}
	}
	return false;
}

/* The distance between two views of one module: a prelinked file and its debug file. */
static u64 shift_of(const struct elf *module, const struct elf *from)
{
	u64 to, at;

	return first_load(module, &to) && first_load(from, &at) ? to - at : 0;
}

static void add_section(struct builder *b, const struct elf *from, const char *name, u32 type)
{
	const struct elf_section *s = elf_section_find(from, name);
	struct table t = { .from = from, .source = b->nr_sources };
	size_t before = b->all.nr;
	void *strings;

	t.sections = elf_sections(from, &t.nr_sections);
	if (!s || s->type != type || s->link >= t.nr_sections || b->nr_sources == MAX_SOURCES)
		return;
	if (elf_section_read(from, &t.sections[s->link], b->max_bytes, &strings,
			     &b->strings_len[t.source]))
		return;
	b->strings[t.source] = strings;
	b->nr_sources++;
	if (!b->strings_len[t.source])
		return;
	b->strings[t.source][b->strings_len[t.source] - 1] = '\0';
	t.shift = shift_of(b->module, from);
	if (!add_symbols(b, &t, s))
		b->all.nr = before;
}

/* Adds a function by a name that is in no symbol table. */
static bool add_made(struct builder *b, u64 vaddr, u64 size, const char *name, const char *suffix)
{
	struct symbol_entry e = { .addr = vaddr, .class = CLASS_LOCAL, .source = SOURCE_MADE };
	size_t at = b->made_names.len;

	if (at > b->max_bytes)
		return false;
	str_add_bytes(&b->made_names, name, strnlen(name, MAX_NAME - 1 - strlen(suffix)));
	str_add(&b->made_names, suffix);
	str_add_char(&b->made_names, '\0');
	e.name = (u32)at;
	return add(b, e, b->made_names.at + at, size, 0);
}

static void add_plt_entry(void *arg, u64 vaddr, u32 size, const char *function)
{
	add_made(arg, vaddr, size, function, "@plt");
}

static void add_go(struct builder *b)
{
	auto_gopclntab struct gopclntab *t = NULL;
	struct go_function f;

	if (gopclntab_read(b->module, &t))
		return;
	for (u32 i = 0; i < gopclntab_nr(t); i++)
		if (gopclntab_function(t, i, &f) &&
		    !add_made(b, f.start, f.end - f.start, f.name, ""))
			return;
}

static bool add_bounds(void *arg, u64 start, u64 end)
{
	struct symbol_entry e = { .addr = start, .class = CLASS_NAMELESS, .source = NAME_IN_POOL };
	struct builder *b = arg;

	vec_push(&b->starts, start);
	return add(b, e, "", end - start, 0);
}

static bool add_start(void *arg, u64 vaddr)
{
	return add_bounds(arg, vaddr, vaddr);
}

static int by_address(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* The functions of a file without .symtab. */
static void add_nameless(struct builder *b)
{
	size_t nr = 0;

	if (!bounds_each(b->module, add_bounds, b))
		eh_starts_each(b->module, add_start, b);
	if (!b->starts.nr)
		return;
	qsort(b->starts.at, b->starts.nr, sizeof(b->starts.at[0]), by_address);
	vec_each(start, &b->starts)
		if (!nr || *start != b->starts.at[nr - 1])
			b->starts.at[nr++] = *start;
	b->starts.nr = nr;
}

static void add_role(void *arg, u64 vaddr, u32 size, const char *name)
{
	struct builder *b = arg;
	struct symbol_entry e = { .addr = vaddr, .class = CLASS_ROLE, .source = NAME_IN_POOL };

	e.name = (u32)b->pool.len;
	str_add(&b->pool, name);
	str_add_char(&b->pool, '\0');
	b->roles_end = (u32)b->pool.len;
	add(b, e, name, size, 0);
}

static u64 exported(const struct builder *b, const char *name)
{
	vec_each(e, &b->all)
		if (e->class == CLASS_EXPORTED && !strcmp(b->strings[e->source] + e->name, name))
			return e->addr;
	return 0;
}

static void add_roles(struct builder *b)
{
	const struct role_anchors anchors = {
		.pthread_create = exported(b, "pthread_create"),
		.clone = exported(b, "clone"),
		.libc_start_main = exported(b, "__libc_start_main"),
		.exit = exported(b, "exit"),
	};

	roles_each(b->module, &anchors, b->starts.at, b->starts.nr, add_role, b);
}

/* Sorts by address. The best name of an address comes last, so that it wins in flatten(). */
static int compare(const void *va, const void *vb)
{
	const struct symbol_entry *a = va, *b = vb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a->class != b->class)
		return a->class < b->class ? 1 : -1;
	if (a->underscores != b->underscores)
		return a->underscores < b->underscores ? 1 : -1;
	if (a->name_len != b->name_len)
		return a->name_len < b->name_len ? 1 : -1;
	if (a->source != b->source)
		return a->source < b->source ? 1 : -1;
	return a->name < b->name ? 1 : a->name > b->name ? -1 : 0;
}

/* Gives the entry a copy of a symbol's name, among the inferred ones. */
static void guess_name(struct builder *b, struct symbol_entry *e, const struct symbol_entry *of)
{
	u32 at = (u32)b->pool.len;

	if (b->pool.len > b->max_bytes || of->source == NAME_IN_POOL || of->source == SOURCE_MADE)
		return;
	str_add_bytes(&b->pool, b->strings[of->source] + of->name, of->name_len);
	str_add_char(&b->pool, '\0');
	b->guesses_end = (u32)b->pool.len;
	e->name = at;
	e->source = NAME_IN_POOL;
	e->class = CLASS_GUESS;
}

/*
 * Entries of one address, the best name last. An entry without a name has the bounds of the
 * function. A name without a size gets these bounds. If a name's size is smaller, the rest of the
 * function gets an inferred name.
 */
static void settle_bounds(struct builder *b, struct symbol_entry *at, size_t nr)
{
	struct symbol_entry *best = &at[nr - 1];
	u32 size = 0;

	for (size_t i = 0; i < nr && at[i].class == CLASS_NAMELESS; i++)
		size = at[i].size > size ? at[i].size : size;
	if (best->class == CLASS_NAMELESS || !size)
		return;
	for (size_t i = 0; i < nr; i++) {
		if (at[i].class != CLASS_NAMELESS && !at[i].size)
			at[i].size = size < at[i].limit ? size : at[i].limit;
		if (at[i].class == CLASS_NAMELESS && best->size && best->size < size)
			guess_name(b, &at[i], best);
	}
}

/*
 * Symbols without a size get the free space after them, up to the end of the function that holds
 * them. They are dropped where a sized symbol covers them. In a stripped file other functions may
 * be in that space: the name is then inferred.
 */
static void settle_sizes(struct builder *b)
{
	u64 sized_end = 0, bounds_end = 0;
	size_t kept = 0;

	for (size_t i = 0, next = 0; i < b->all.nr; i = next) {
		u64 addr = b->all.at[i].addr;
		for (next = i; next < b->all.nr && b->all.at[next].addr == addr; next++) {
			const struct symbol_entry *e = &b->all.at[next];
			u64 end = addr + e->size,
			    *to = e->class == CLASS_NAMELESS ? &bounds_end : &sized_end;
			*to = end > *to ? end : *to;
		}
		settle_bounds(b, &b->all.at[i], next - i);
		bool is_start = b->all.at[i].class == CLASS_NAMELESS;
		u64 room = next < b->all.nr ? b->all.at[next].addr - addr : UINT64_MAX;
		if (bounds_end > addr && bounds_end - addr < room)
			room = bounds_end - addr;
		for (size_t k = i; k < next; k++) {
			struct symbol_entry e = b->all.at[k];
			bool is_nameless = e.class == CLASS_NAMELESS;
			if ((!e.size || is_nameless) && sized_end > e.addr &&
			    sized_end >= e.addr + e.size)
				continue;
			if (!e.size) {
				e.size = clip(room, e.limit);
				if (b->is_stripped && !is_start)
					guess_name(b, &e, &b->all.at[k]);
			}
			b->all.at[kept++] = e;
		}
	}
	b->all.nr = kept;
}

static u32 pool_name(struct builder *b, struct symbol_entry *e)
{
	if (e->class == CLASS_NAMELESS)
		return e->addr - b->base < NAMELESS ? NAMELESS | (u32)(e->addr - b->base) : 0;
	if (e->source != NAME_IN_POOL) {
		u32 at = (u32)b->pool.len;
		str_add_bytes(&b->pool, b->strings[e->source] + e->name, e->name_len);
		str_add_char(&b->pool, '\0');
		e->name = at;
		e->source = NAME_IN_POOL;
	}
	return e->name;
}

static void emit(struct builder *b, u64 start, u64 end, struct symbol_entry *e)
{
	if (b->pool.len + b->ranges.nr * sizeof(struct range) > b->max_bytes)
		return;
	if (end - b->base > UINT32_MAX)
		end = b->base + UINT32_MAX;
	if (start < end)
		vec_push(&b->ranges, (struct range){ (u32)(start - b->base), (u32)(end - b->base),
						     pool_name(b, e) });
}

/* The symbols that cover the current address; the top one wins. */
struct sweep {
	VEC(struct symbol_entry *) open;
	u64 at; /* everything before this address is flattened */
};

static void sweep_to(struct builder *b, struct sweep *s, u64 upto)
{
	while (s->open.nr && s->at < upto) {
		struct symbol_entry *top = s->open.at[s->open.nr - 1];
		u64 end = top->addr + top->size;
		if (end > s->at) {
			u64 stop = end < upto ? end : upto;
			emit(b, s->at, stop, top);
			s->at = stop;
		}
		if (end <= upto)
			s->open.nr--;
	}
	s->at = upto;
}

/* Each symbol opens and closes once, therefore n symbols give at most 2n ranges. */
static void flatten(struct builder *b)
{
	struct sweep s = { 0 };

	vec_each(e, &b->all) {
		sweep_to(b, &s, e->addr);
		vec_push(&s.open, e);
	}
	sweep_to(b, &s, UINT64_MAX);
	vec_fini(&s.open);
}

static struct symbols *pack(struct builder *b)
{
	struct symbols *s = xcalloc(1, sizeof(*s));

	s->base = b->base;
	s->end = b->end;
	s->nr = b->ranges.nr;
	s->at = xreallocarray(b->ranges.at, s->nr + 1, sizeof(s->at[0]));
	s->pool_len = b->pool.len;
	s->roles_start = 1;
	s->roles_end = b->roles_end;
	s->guesses_end = b->guesses_end > b->roles_end ? b->guesses_end : b->roles_end;
	s->pool = xreallocarray(b->pool.at, s->pool_len + 1, 1);
	return s;
}

struct symbols *symbols_read(const struct elf *module, const struct elf *const *more,
			     size_t nr_more, size_t max_bytes)
{
	struct builder b = { .module = module, .nr_sources = SOURCE_MADE + 1, .roles_end = 1 };

	find_code(module, &b.base, &b.end);
	/* Offsets into strings have 32 bits. */
	b.max_bytes = max_bytes > UINT32_MAX / 2 ? UINT32_MAX / 2 : max_bytes;
	str_add_char(&b.pool, '\0');
	add_section(&b, module, ".symtab", SHT_SYMTAB);
	for (size_t i = 0; i < nr_more; i++)
		add_section(&b, more[i], ".symtab", SHT_SYMTAB);
	b.is_stripped = !b.all.nr;
	if (b.is_stripped) {
		add_nameless(&b);
		add_go(&b);
	}
	add_section(&b, module, ".dynsym", SHT_DYNSYM);
	if (b.starts.nr)
		add_roles(&b);
	plt_each(module, add_plt_entry, &b);
	b.strings_len[SOURCE_MADE] = b.made_names.len;
	b.strings[SOURCE_MADE] = str_take(&b.made_names);
	if (b.all.nr)
		qsort(b.all.at, b.all.nr, sizeof(b.all.at[0]), compare);
	settle_sizes(&b);
	flatten(&b);
	for (size_t i = 0; i < b.nr_sources; i++)
		free(b.strings[i]);
	vec_fini(&b.all);
	vec_fini(&b.starts);
	return pack(&b);
}

/* The first range that ends behind `addr`, which counts from the base. */
static size_t range_at(const struct symbols *s, u32 addr)
{
	size_t lo = 0, hi = s->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (s->at[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const char *symbols_find(const struct symbols *s, u64 vaddr, u64 *start)
{
	if (vaddr < s->base || vaddr - s->base > UINT32_MAX)
		return NULL;
	u32 addr = (u32)(vaddr - s->base);
	size_t i = range_at(s, addr);
	if (i == s->nr || s->at[i].start > addr)
		return NULL;
	bool is_nameless = s->at[i].name & NAMELESS;
	*start = s->base + (is_nameless ? s->at[i].name & ~NAMELESS : s->at[i].start);
	return is_nameless ? "" : s->pool + s->at[i].name;
}

bool symbols_gap(const struct symbols *s, u64 vaddr, u64 *start, u64 *end)
{
	if (vaddr < s->base || vaddr >= s->end || vaddr - s->base > UINT32_MAX)
		return false;
	u32 addr = (u32)(vaddr - s->base);
	size_t i = range_at(s, addr);
	if (i < s->nr && s->at[i].start <= addr)
		return false;
	*start = s->base + (i ? s->at[i - 1].end : 0);
	*end = i < s->nr ? s->base + s->at[i].start : s->end;
	return true;
}

bool symbols_is_role(const struct symbols *s, const char *name)
{
	return name >= s->pool + s->roles_start && name < s->pool + s->roles_end;
}

bool symbols_is_guess(const struct symbols *s, const char *name)
{
	return name >= s->pool + s->roles_end && name < s->pool + s->guesses_end;
}

/* The encoded form: this head, the ranges, the pool. */
struct head {
	u64 base, end, nr, pool_len;
	u32 roles_start, roles_end, guesses_end, unused;
};

int symbols_encode(const struct symbols *s, int (*put)(void *ctx, const void *bytes, size_t len),
		   void *ctx)
{
	const struct head head = { s->base,        s->end,       s->nr,          s->pool_len,
				   s->roles_start, s->roles_end, s->guesses_end, 0 };

	return put(ctx, &head, sizeof(head))
		       ?: put(ctx, s->at, s->nr * sizeof(s->at[0]))
		       ?: put(ctx, s->pool, s->pool_len);
}

static bool is_sound(const struct symbols *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		const struct range *r = &s->at[i];
		bool has_name = r->name & NAMELESS ? (r->name & ~NAMELESS) <= r->start
						   : r->name < s->pool_len;
		if (r->start >= r->end || !has_name || (i && r->start < s->at[i - 1].end))
			return false;
	}
	return s->pool_len && !s->pool[s->pool_len - 1] && s->roles_start <= s->pool_len &&
	       s->roles_end <= s->pool_len && s->guesses_end <= s->pool_len;
}

int symbols_decode(void **bytes, size_t nr, struct symbols **out)
{
	struct head head;
	u8 *at = *bytes;

	if (nr < sizeof(head))
		return -EBADMSG;
	memcpy(&head, at, sizeof(head));
	at += sizeof(head);
	nr -= sizeof(head);
	if (head.nr > nr / sizeof(struct range) ||
	    nr - head.nr * sizeof(struct range) != head.pool_len)
		return -EBADMSG;
	auto_symbols struct symbols *s = xcalloc(1, sizeof(*s));
	s->base = head.base;
	s->end = head.end;
	s->nr = head.nr;
	s->pool_len = head.pool_len;
	s->roles_start = head.roles_start;
	s->roles_end = head.roles_end;
	s->guesses_end = head.guesses_end;
	s->at = (struct range *)at;
	s->pool = (char *)(s->at + s->nr);
	s->encoded = take(*bytes);
	if (!is_sound(s))
		return -EBADMSG;
	*out = take(s);
	return 0;
}

size_t symbols_bytes(const struct symbols *s)
{
	return sizeof(*s) + s->nr * sizeof(s->at[0]) + s->pool_len;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	if (s->encoded) {
		free(s->encoded);
	} else {
		free(s->at);
		free(s->pool);
	}
	free(s);
}
