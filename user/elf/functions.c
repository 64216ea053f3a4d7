/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where functions begin in a file, by name or by .eh_frame, reads symbol tables, and names
 * functions by their role.
 */
#include "elf/functions.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "elf/debugfile.h"
#include "elf/gopclntab.h"
#include "elf/rows.h"

/* DWARF pointer encodings: the base in the high half, the format in the low half. */
#define ENC_SDATA4  0x0b
#define ENC_UDATA4  0x03
#define ENC_PCREL   0x10
#define ENC_DATAREL 0x30

#define CHUNK_NR 1024

struct header {
	u8 version, frame_enc, count_enc, table_enc;
	u32 frame, nr;
};

struct function_entry {
	s32 start, fde;
};

static const struct elf_segment *find_segment(const struct elf *e)
{
	size_t nr;
	const struct elf_segment *segments = elf_segments(e, &nr);

	for (size_t i = 0; i < nr; i++)
		if (segments[i].type == PT_GNU_EH_FRAME)
			return &segments[i];
	return NULL;
}

void eh_starts_each(const struct elf *e, eh_start_visit *visit, void *arg)
{
	const struct elf_segment *p = find_segment(e);
	struct function_entry chunk[CHUNK_NR];
	struct header h;

	if (!p || p->filesz < sizeof(h) || elf_read_at(e, p->file_off, &h, sizeof(h)))
		return;
	if (h.version != 1 || h.frame_enc != (ENC_PCREL | ENC_SDATA4) ||
	    h.count_enc != ENC_UDATA4 || h.table_enc != (ENC_DATAREL | ENC_SDATA4))
		return;
	u64 room = (p->filesz - sizeof(h)) / sizeof(struct function_entry);
	u64 nr = h.nr < room ? h.nr : room;
	if (nr > EH_STARTS_MAX)
		return;
	for (u64 i = 0; i < nr;) {
		size_t some = nr - i < CHUNK_NR ? nr - i : CHUNK_NR;
		u64 off = p->file_off + sizeof(h) + i * sizeof(struct function_entry);
		if (elf_read_at(e, off, chunk, some * sizeof(struct function_entry)))
			return;
		for (size_t k = 0; k < some; k++)
			if (!visit(arg, p->vaddr + (u64)(s64)chunk[k].start))
				return;
		i += some;
	}
}

bool bounds_each(const struct elf *e, bounds_visit *visit, void *arg)
{
	auto_cfi_input struct cfi_input input = { 0 };
	bool goes_on = true;

	if (cfi_input_of_file(e, &input))
		return false;
	struct cfi cfi = { .base = input.base, .size = input.size };
	bool is_complete = true;
	for (size_t i = 0; i < input.nr; i++)
		if (!input.sections[i].is_debug_frame) /* Go's has pieces of functions */
			is_complete &= !cfi_read(&cfi, &input.sections[i]);
	is_complete &= cfi.fdes.nr && !cfi.nr_malformed;
	for (size_t i = 0; i < cfi.fdes.nr && goes_on; i++)
		goes_on =
			visit(arg, cfi.base + cfi.fdes.at[i].start, cfi.base + cfi.fdes.at[i].end);
	cfi_fini(&cfi);
	return is_complete;
}

/* Limit of a table of symbols, and also of their names: a worker has memory for both. */
#define TABLE_BYTES_MAX (112u << 20)

int symbol_table_each(const struct elf *e, const char *table, symbol_fn visit, void *ctx)
{
	const struct elf_section *found = elf_section_find(e, table);
	size_t nr_sections, len, names_len;
	const struct elf_section *sections = elf_sections(e, &nr_sections);

	if (!elf_is_64(e))
		return -ENOEXEC;
	if (!found || found->type == SHT_NOBITS)
		return 0;
	if (found->link >= nr_sections)
		return -EBADMSG;
	auto_free void *symbols = NULL, *names = NULL;
	int err = elf_section_read(e, found, TABLE_BYTES_MAX, &symbols, &len)
			  ?: elf_section_read(e, &sections[found->link], TABLE_BYTES_MAX, &names,
					      &names_len);
	if (err)
		return err;
	if (!names_len || ((char *)names)[names_len - 1])
		return -EBADMSG;
	for (size_t i = 0; i < len / sizeof(Elf64_Sym); i++) {
		Elf64_Sym symbol;
		memcpy(&symbol, (Elf64_Sym *)symbols + i, sizeof(symbol));
		if (symbol.st_name < names_len)
			visit(ctx, &symbol, (char *)names + symbol.st_name);
	}
	return 0;
}

struct variable {
	const char *name;
	u64 vaddr; /* 0: not found */
};

static void take_variable(void *ctx, const Elf64_Sym *symbol, const char *name)
{
	struct variable *v = ctx;

	if (ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_shndx != SHN_UNDEF &&
	    !strcmp(name, v->name))
		v->vaddr = symbol->st_value;
}

int symbol_table_find_variable(const struct elf *e, const char *name, u64 *vaddr)
{
	struct variable v = { .name = name };
	int err = symbol_table_each(e, ".symtab", take_variable, &v);

	if (err)
		return err;
	if (!v.vaddr)
		return -ENOENT;
	*vaddr = v.vaddr;
	return 0;
}

struct function_search {
	const struct elf *elf, *symbols; /* `symbols` is the same file, or its debug file */
	const char *const *names;
	size_t nr_names, nr_found;
	struct function *out; /* one for each name */
	struct near *near;    /* NULL if similar names are not wanted */
};

static int offset_of(const struct elf *e, u64 vaddr, u64 *file_off)
{
	u64 left;
	const struct elf_segment *s = elf_segment_of(e, vaddr, &left);

	if (!s || !(s->flags & PF_X))
		return -ENOENT;
	*file_off = vaddr - s->vaddr + s->file_off;
	return 0;
}

/*
 * Whether a symbol is the method "A::B::c" in the nested names of the Itanium C++ ABI:
 * _ZN1A1B1cE...
 */
static bool is_method(const char *symbol, const char *wanted)
{
	if (strncmp(symbol, "_ZN", 3) || !strstr(wanted, "::"))
		return false;
	symbol += symbol[3] == 'K' ? 4 : 3; /* a const method */
	for (const char *part = wanted, *end;; part = end + 2) {
		char *digits_end;
		end = strstr(part, "::");
		size_t len = end ? (size_t)(end - part) : strlen(part);
		if (!isdigit((unsigned char)*symbol) || strtoul(symbol, &digits_end, 10) != len ||
		    strncmp(digits_end, part, len))
			return false;
		symbol = digits_end + len;
		if (!end)
			return *symbol == 'E';
	}
}

static void consider(struct function_search *s, u64 vaddr, u64 size, const char *name)
{
	bool is_wanted = false;
	u64 off;

	for (size_t i = 0; i < s->nr_names; i++) {
		if (strcmp(name, s->names[i]) && !is_method(name, s->names[i]))
			continue;
		is_wanted = true;
		if (s->out[i].file_off || offset_of(s->elf, vaddr, &off))
			continue;
		s->out[i] = (struct function){ .file_off = off, .size = size };
		s->nr_found++;
	}
	if (!is_wanted && s->near && !offset_of(s->elf, vaddr, &off))
		near_consider(s->near, name);
}

static void visit(void *ctx, const Elf64_Sym *symbol, const char *name)
{
	struct function_search *s = ctx;

	if (s->nr_found < s->nr_names && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
	    symbol->st_shndx != SHN_UNDEF)
		consider(s, symbol->st_value, symbol->st_size, name);
}

static void search_go(struct function_search *s)
{
	auto_gopclntab struct gopclntab *t = NULL;
	struct go_function f;

	if (gopclntab_read(s->elf, &t))
		return;
	for (u32 i = 0; i < gopclntab_nr(t) && s->nr_found < s->nr_names; i++)
		if (gopclntab_function(t, i, &f))
			consider(s, f.start, f.end - f.start, f.name);
}

/* Finds functions in the file at `fd` with the symbols of the file at `symbols_fd`. */
static int search_file(struct function_search *s, int fd, int symbols_fd)
{
	static const char *const tables[] = { ".symtab", ".dynsym" };
	auto_elf struct elf *elf = NULL, *symbols = NULL;
	int err = elf_open_fd(fd, &elf) ?: elf_open_fd(symbols_fd, &symbols);

	if (err)
		return err;
	if (!elf_is_64(elf))
		return -ENOEXEC;
	s->elf = elf;
	s->symbols = symbols;
	for (size_t i = 0; !err && i < ARRAY_SIZE(tables) && s->nr_found < s->nr_names; i++)
		err = symbol_table_each(symbols, tables[i], visit, s);
	if (!err && s->nr_found < s->nr_names)
		search_go(s);
	return err;
}

int functions_find(int fd, const char *const *names, size_t nr, struct function *out,
		   struct near *near)
{
	struct function_search s = { .names = names, .nr_names = nr, .out = out, .near = near };

	memset(out, 0, nr * sizeof(*out));
	return search_file(&s, fd, fd);
}

int functions_find_stripped(int fd, const struct debug_places *places, const char *const *names,
			    size_t nr, struct function *out)
{
	struct function_search s = { .names = names, .nr_names = nr, .out = out };
	auto_elf struct elf *elf = NULL;
	int err = elf_open_fd(fd, &elf);

	if (err)
		return err;
	auto_close int debug_fd = debugfile_find(elf, places);
	if (debug_fd < 0)
		return debug_fd;
	for (size_t i = 0; i < nr; i++)
		s.nr_found += out[i].file_off != 0;
	return search_file(&s, fd, debug_fd);
}

/* Functions that are named by their role: roles_each. */

#define CODE_MAX    65536 /* bytes of a function that are searched */
#define CLONE_MAX   64    /* limit for clone3 up to the thread's start, and for the start's code */
#define CLONE_DEPTH 3     /* calls: __clone_internal, __clone3_internal, clone3 */
#define HANDED_MAX  80    /* bytes between loading an address and the call that passes it */
#define START_MAX   64    /* bytes of _start that are read */
#define READS_MAX   4096  /* functions that may be read; glibc's need about 300 */

struct role_search {
	const struct elf *e;
	const u64 *starts;
	size_t nr_starts;
	role_visit *visit;
	void *arg;
	u64 clone, clone3; /* 0 if unknown */
	u32 nr_reads;      /* functions read so far */
};

struct code {
	u64 vaddr;
	size_t len;
	u8 bytes[CODE_MAX];
};

/* Reads the part of [vaddr, vaddr + len) that lies in an executable segment. */
static void read_code(struct role_search *s, u64 vaddr, u64 len, struct code *out)
{
	u64 left;
	const struct elf_segment *p = elf_segment_of(s->e, vaddr, &left);

	out->vaddr = vaddr;
	out->len = 0;
	if (s->nr_reads++ >= READS_MAX)
		return;
	if (!p || !(p->flags & PF_X))
		return;
	len = len < CODE_MAX ? len : CODE_MAX;
	len = len < left ? len : left;
	if (!elf_read_vaddr(s->e, vaddr, out->bytes, len))
		out->len = len;
}

static bool has_bytes(const struct code *c, size_t at, const void *bytes, size_t len)
{
	return at + len <= c->len && !memcmp(c->bytes + at, bytes, len);
}

/* The target of the 32-bit displacement at `at`, relative to the byte after it. */
static u64 target_of(const struct code *c, size_t at)
{
	s32 relative;

	memcpy(&relative, c->bytes + at, sizeof(relative));
	return c->vaddr + at + sizeof(relative) + (u64)(s64)relative;
}

static bool is_call(const struct code *c, size_t at)
{
	return at + 5 <= c->len && c->bytes[at] == 0xe8;
}

/* mov $number, %eax; syscall */
static bool is_syscall(const struct code *c, size_t at, u32 number)
{
	return has_bytes(c, at, "\xb8", 1) && has_bytes(c, at + 1, &number, sizeof(number)) &&
	       has_bytes(c, at + 5, "\x0f\x05", 2);
}

static bool calls(const struct code *c, u64 vaddr)
{
	for (size_t at = 0; at < c->len; at++)
		if (is_call(c, at) && target_of(c, at + 1) == vaddr)
			return true;
	return false;
}

/* The index of the last function that begins at or before `vaddr`; nr_starts if none does. */
static size_t function_at(const struct role_search *s, u64 vaddr)
{
	size_t low = 0, high = s->nr_starts;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (s->starts[middle] <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : s->nr_starts;
}

static bool is_start(const struct role_search *s, u64 vaddr)
{
	size_t i = function_at(s, vaddr);

	return i < s->nr_starts && s->starts[i] == vaddr;
}

/* Reads the function at `vaddr`, up to the next function. */
static void read_function(struct role_search *s, u64 vaddr, struct code *out)
{
	size_t i = function_at(s, vaddr);
	u64 end = i + 1 < s->nr_starts ? s->starts[i + 1] : vaddr + CODE_MAX;

	read_code(s, vaddr, i < s->nr_starts ? end - vaddr : 0, out);
}

/*
 * Whether the function calls clone or clone3, through at most `depth` calls of the file's own
 * functions.
 */
static bool reaches_clone(struct role_search *s, u64 function, int depth)
{
	auto_free struct code *c = xmalloc(sizeof(*c));

	read_function(s, function, c);
	for (size_t at = 0; at < c->len && depth; at++) {
		u64 target = is_call(c, at) ? target_of(c, at + 1) : 0;
		if (target && (target == s->clone || target == s->clone3))
			return true;
		if (target && is_start(s, target) && reaches_clone(s, target, depth - 1))
			return true;
	}
	return false;
}

/*
 * The function whose address the code passes in rsi to a function that creates threads; 0 if none.
 */
static u64 thread_function(struct role_search *s, const struct code *c)
{
	for (size_t at = 0; at < c->len; at++) {
		u64 target = has_bytes(c, at, "\x48\x8d\x35", 3) ? target_of(c, at + 3) : 0;
		if (!target || at + 7 > c->len || !is_start(s, target))
			continue;
		size_t end = at + HANDED_MAX < c->len ? at + HANDED_MAX : c->len;
		for (size_t k = at + 7; k < end; k++)
			if (is_call(c, k) && is_start(s, target_of(c, k + 1)) &&
			    reaches_clone(s, target_of(c, k + 1), CLONE_DEPTH))
				return target;
	}
	return 0;
}

/* start_thread: pthread_create, or a function that it calls, creates a thread with it. */
static void find_start_thread(struct role_search *s, u64 pthread_create)
{
	auto_free struct code *c = xmalloc(sizeof(*c)), *callee = xmalloc(sizeof(*callee));

	read_function(s, pthread_create, c);
	u64 found = thread_function(s, c);
	for (size_t at = 0; at < c->len && !found; at++) {
		u64 target = is_call(c, at) ? target_of(c, at + 1) : 0;
		if (!target || !is_start(s, target))
			continue;
		read_function(s, target, callee);
		found = thread_function(s, callee);
	}
	if (found)
		s->visit(s->arg, found, 0, "start_thread");
}

/* __libc_start_call_main: __libc_start_main calls it, and it calls exit. */
static void find_call_main(struct role_search *s, u64 libc_start_main, u64 exit_function)
{
	auto_free struct code *c = xmalloc(sizeof(*c)), *callee = xmalloc(sizeof(*callee));
	u64 found = 0;

	read_function(s, libc_start_main, c);
	for (size_t at = 0; at < c->len; at++) {
		u64 target = is_call(c, at) ? target_of(c, at + 1) : 0;
		if (!target || target == found || !is_start(s, target))
			continue;
		read_function(s, target, callee);
		if (!calls(callee, exit_function))
			continue;
		if (found)
			return;
		found = target;
	}
	if (found)
		s->visit(s->arg, found, 0, "__libc_start_call_main");
}

/*
 * The thread start of clone3 has no return address. It calls the thread's function and exits with
 * its result. It follows the function that makes the clone3 system call.
 */
static void find_clone3(struct role_search *s, u64 thread_start, struct code *c)
{
	static const u8 call_rdx_mov[] = { 0xff, 0xd2, 0x48, 0x89, 0xc7 };
	size_t i = function_at(s, thread_start);

	if (i == s->nr_starts || !i || s->starts[i] != thread_start)
		return;
	u64 clone3 = s->starts[i - 1];
	if (thread_start - clone3 > CLONE_MAX)
		return;
	read_code(s, clone3, thread_start - clone3 + CLONE_MAX, c);
	size_t child = thread_start - clone3, at = 0;
	while (at < child && !is_syscall(c, at, SYS_clone3))
		at++;
	if (at >= child)
		return;
	for (at = child; at < child + CLONE_MAX; at++)
		if (has_bytes(c, at, call_rdx_mov, sizeof(call_rdx_mov)) &&
		    is_syscall(c, at + sizeof(call_rdx_mov), SYS_exit)) {
			s->visit(s->arg, clone3, (u32)(at + sizeof(call_rdx_mov) + 7), "clone3");
			s->clone3 = clone3;
			return;
		}
}

/* The address that _start passes to __libc_start_main in rdi. */
static u64 main_of(const struct code *c)
{
	for (size_t at = 0; at + 14 <= c->len; at++)
		if (has_bytes(c, at, "\x48\x8d\x3d", 3) && has_bytes(c, at + 7, "\xff\x15", 2))
			return target_of(c, at + 3);
	return 0;
}

/*
 * The program's entry, if its code clears rbp and passes rdx on as crt1.o does. libc.so.6 also has
 * an entry, because it can be executed.
 */
static void find_start(struct role_search *s, u64 entry)
{
	auto_free struct code *c = xmalloc(sizeof(*c));
	static const u8 endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const u8 glibc[] = { 0x31, 0xed, 0x49, 0x89, 0xd1, 0x5e };

	read_code(s, entry, START_MAX, c);
	size_t at = has_bytes(c, 0, endbr64, sizeof(endbr64)) ? sizeof(endbr64) : 0;
	if (!is_start(s, entry) || !has_bytes(c, at, glibc, sizeof(glibc)))
		return;
	s->visit(s->arg, entry, 0, "_start");
	u64 main = main_of(c);
	if (main && is_start(s, main))
		s->visit(s->arg, main, 0, "main");
}

static void find_in_libc(struct role_search *s, const struct role_anchors *anchors)
{
	auto_free struct code *c = xmalloc(sizeof(*c));
	auto_rows struct rows rows = { 0 };

	if (anchors->exit)
		find_call_main(s, anchors->libc_start_main, anchors->exit);
	if (rows_build(s->e, &rows))
		return;
	for (u32 i = 0; i < rows.nr && !s->clone3; i++)
		if (rows.at[i].kind == ROW_END)
			find_clone3(s, rows.base + rows.at[i].pc, c);
	if (anchors->pthread_create)
		find_start_thread(s, anchors->pthread_create);
}

void roles_each(const struct elf *e, const struct role_anchors *anchors, const u64 *starts,
		size_t nr_starts, role_visit *visit, void *arg)
{
	struct role_search s = { e, starts, nr_starts, visit, arg, anchors->clone, 0, 0 };

	if (elf_machine(e) != EM_X86_64 || !nr_starts)
		return;
	if (elf_entry(e))
		find_start(&s, elf_entry(e));
	if (anchors->libc_start_main)
		find_in_libc(&s, anchors);
}
