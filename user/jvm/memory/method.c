/* SPDX-License-Identifier: Apache-2.0 */
/* Names of Methods. */
#include "jvm/memory/method.h"

#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/time.h"
#include "base/vec.h"
#include "jvm/memory/scopes.h"
#include "jvm/memory/unloads.h"

#define OBJECT_MAX    256   /* bytes of a ConstMethod, pool or Symbol in the first read */
#define LINES_MAX     65536 /* bytes of a line table */
#define TAG_UTF8      1     /* JVM_CONSTANT_Utf8 */
#define ACCESS_NATIVE 0x100
#define SYMBOL_MAX    65535 /* Symbol::max_length() */
#define SYMBOL_FIRST  80    /* bytes in the first read: most names are shorter */
#define TRIES         3     /* attempts to name a Method while classes are being unloaded */

/* The values that show whether a ConstMethod is still the same. */
struct fingerprint {
	u64 constants;
	u32 size;
	u16 name_index, signature_index, code_size;
};

struct known_method {
	/* must be first: a pointer to the name is also a pointer to the known_method */
	struct method_name name;
	struct fingerprint print;
	struct era era; /* when this Method was at the address */
	u64 looked_ns;  /* when its memory was last compared */
	u32 before;     /* index + 1 of the previous Method at this address; 0 if none is known */
	u64 lines_at;   /* address of the line table; 0 if there is none or it was read */
	u32 lines_len;  /* upper limit; exact after the read */
	u8 *lines;
};

/* The state of a Method in one read. */
struct look {
	u64 unloads; /* the count before the read */
	u64 const_method;
	u8 bytes[OBJECT_MAX]; /* of the ConstMethod */
	size_t len;
};

struct methods {
	const struct vm_memory *j;
	struct java_names *names;
	struct dict by_address; /* Method * -> index + 1 */
	VEC(struct known_method) known;
	size_t lines_bytes;
	u64 nr_looks;
};

struct methods *methods_new(const struct vm_memory *j, struct java_names *names)
{
	struct methods *all = xcalloc(1, sizeof(*all));

	all->j = j;
	all->names = names;
	return all;
}

void methods_clear(struct methods *all)
{
	vec_each(k, &all->known)
		free(k->lines);
	dict_fini(&all->by_address);
	vec_fini(&all->known);
	all->by_address = (struct dict){ 0 };
	all->lines_bytes = 0;
}

size_t methods_bytes(const struct methods *all)
{
	return all->known.cap * sizeof(all->known.at[0]) + dict_bytes(&all->by_address) +
	       all->lines_bytes;
}

void methods_free(struct methods *all)
{
	if (!all)
		return;
	methods_clear(all);
	free(all);
}

static bool is_pointer(u64 addr)
{
	return addr >= 4096 && addr < 1ull << 56 && !(addr & 7);
}

/* Parses ConstMethod's fields; -EBADMSG if it cannot be a ConstMethod. */
static int parse_const_method(const struct vm_memory *j, const u8 *bytes, size_t len,
			      struct fingerprint *print)
{
	const struct jvm_build *b = &j->build;

	*print = (struct fingerprint){
		.constants = (u64)jvm_get(b, CM_CONSTANTS, bytes, len),
		.size = (u32)jvm_get(b, CM_SIZE, bytes, len),
		.name_index = (u16)jvm_get(b, CM_NAME_INDEX, bytes, len),
		.signature_index = (u16)jvm_get(b, CM_SIGNATURE_INDEX, bytes, len),
		.code_size = (u16)jvm_get(b, CM_CODE_SIZE, bytes, len),
	};
	if (!is_pointer(print->constants) || !print->name_index || !print->signature_index ||
	    print->size * 8ull < b->sizes[SIZE_CONST_METHOD] + (u64)print->code_size)
		return -EBADMSG;
	return 0;
}

static bool same_print(const struct fingerprint *a, const struct fingerprint *b)
{
	return a->constants == b->constants && a->size == b->size &&
	       a->name_index == b->name_index && a->signature_index == b->signature_index &&
	       a->code_size == b->code_size;
}

static int symbol_length(const struct vm_memory *j, const u8 *bytes, size_t len)
{
	if (vm_has(&j->build, SYMBOL_LENGTH))
		return (int)jvm_get(&j->build, SYMBOL_LENGTH, bytes, len);
	/* JDK 12..15: the upper half of a u4 */
	return (int)((u32)jvm_get(&j->build, SYMBOL_LENGTH_AND_REFCOUNT, bytes, len) >> 16);
}

/* The text of a Symbol whose first `n` bytes have been read. */
static int complete_symbol(const struct vm_memory *j, u64 symbol, const u8 *first, size_t n,
			   char **text, size_t *text_len)
{
	u64 body = j->build.fields[SYMBOL_BODY].at;

	if (n < body)
		return -EFAULT;
	size_t len = (size_t)symbol_length(j, first, n);
	if (len > SYMBOL_MAX)
		return -EBADMSG;
	auto_free char *out = xmalloc(len + 1);
	size_t have = n - body < len ? n - body : len;
	memcpy(out, first + body, have);
	int err = mem_read(j->mem, symbol + body + have, out + have, len - have);
	if (err)
		return err;
	*text = take(out);
	*text_len = len;
	return 0;
}

int method_symbol(const struct vm_memory *j, u64 symbol, char **text, size_t *text_len)
{
	u8 first[SYMBOL_FIRST];

	if (!is_pointer(symbol))
		return -EBADMSG;

	ssize_t n = mem_read_some(j->mem, symbol, first, sizeof(first));
	return n < 0 ? (int)n : complete_symbol(j, symbol, first, (size_t)n, text, text_len);
}

/* Reads the holder's name. */
static int read_class_name(struct methods *all, u64 holder, const char **out)
{
	const struct vm_memory *j = all->j;
	auto_free char *text = NULL;
	u64 symbol;
	size_t len;

	if (!is_pointer(holder))
		return -EBADMSG;
	int err = vm_read(j, holder, KLASS_NAME, &symbol);
	err = err ? err : method_symbol(j, symbol, &text, &len);
	if (err)
		return err;
	if (!len)
		return -EBADMSG;
	*out = java_names_intern_class(all->names, text, len);
	return 0;
}

/* The texts of a method's name, in the order in which they are read. */
enum text {
	TEXT_CLASS,
	TEXT_NAME,
	TEXT_SIGNATURE,
	TEXT_FILE,
	TEXTS,
};

/* A name while it is read: every step is one read of several pieces. */
struct name_reader {
	u64 pool, tags, holder;
	u32 pool_length;
	u32 index[TEXTS]; /* in the pool, 0 if there is none; unused for the class */
	u64 symbols[TEXTS];
	u8 tag[TEXTS];
	u64 class_file; /* index in the pool, where the class has it */
};

static int read_pool(const struct vm_memory *j, const struct fingerprint *print,
		     struct name_reader *r)
{
	const struct jvm_build *b = &j->build;
	u8 pool[OBJECT_MAX];
	ssize_t len = mem_read_some(j->mem, print->constants, pool, sizeof(pool));

	if (len < 0)
		return (int)len;
	*r = (struct name_reader){
		.pool = print->constants,
		.tags = (u64)jvm_get(b, POOL_TAGS, pool, (size_t)len),
		.holder = (u64)jvm_get(b, POOL_HOLDER, pool, (size_t)len),
		.pool_length = (u32)jvm_get(b, POOL_LENGTH, pool, (size_t)len),
		.index = { [TEXT_NAME] = print->name_index,
			   [TEXT_SIGNATURE] = print->signature_index,
			   [TEXT_FILE] = (u32)jvm_get(b, POOL_SOURCE_FILE, pool, (size_t)len) },
	};
	return b->sizes[SIZE_POOL] && is_pointer(r->tags) && is_pointer(r->holder) &&
			       vm_has(b, KLASS_NAME)
		       ? 0
		       : -EBADMSG;
}

/* Adds the two reads of the pool's entry for a text: its Symbol and its tag. */
static size_t add_entry(const struct vm_memory *j, struct name_reader *r, enum text t,
			struct mem_request *out)
{
	u32 index = r->index[t];

	if (!index || index >= r->pool_length)
		return 0;
	out[0] = (struct mem_request){ r->pool + j->build.sizes[SIZE_POOL] + 8ull * index,
				       &r->symbols[t], sizeof(r->symbols[t]), false };
	/* Array<u1>: an int for its length, then the bytes (oops/array.hpp) */
	out[1] = (struct mem_request){ r->tags + 4 + index, &r->tag[t], 1, false };
	return 2;
}

static int read_entries(const struct vm_memory *j, struct name_reader *r)
{
	const struct jvm_field *name = &j->build.fields[KLASS_NAME];
	const struct jvm_field *file = &j->build.fields[KLASS_SOURCE_FILE];
	struct mem_request requests[8] = {
		{ r->holder + name->at, &r->symbols[TEXT_CLASS], name->width, false },
	};
	size_t nr = 1;

	nr += add_entry(j, r, TEXT_NAME, requests + nr);
	nr += add_entry(j, r, TEXT_SIGNATURE, requests + nr);
	if (nr != 5)
		return -EBADMSG;
	nr += add_entry(j, r, TEXT_FILE, requests + nr);
	if (!r->index[TEXT_FILE] && file->width)
		requests[nr++] = (struct mem_request){ r->holder + file->at, &r->class_file,
						       file->width, false };
	int done = mem_read_batch(j->mem, requests, nr);
	if (done < 0)
		return done;
	for (size_t i = 0; i < 5; i++)
		if (!requests[i].ok)
			return -EFAULT;
	if (r->tag[TEXT_NAME] != TAG_UTF8 || r->tag[TEXT_SIGNATURE] != TAG_UTF8)
		return -EBADMSG;
	if (r->class_file) {
		r->index[TEXT_FILE] = (u32)r->class_file;
		mem_read_batch(j->mem, requests, add_entry(j, r, TEXT_FILE, requests));
	}
	return 0;
}

/* Reads the Symbols. A file without a name is no error. */
static int read_texts(struct methods *all, struct name_reader *r, const char *out[TEXTS])
{
	const struct vm_memory *j = all->j;
	u8 first[TEXTS][SYMBOL_FIRST];
	struct mem_request requests[TEXTS];
	u32 nr = r->tag[TEXT_FILE] == TAG_UTF8 ? TEXTS : TEXT_FILE;

	for (u32 t = 0; t < nr; t++) {
		r->symbols[t] &= t == TEXT_CLASS ? ~0ull : ~1ull;
		requests[t] = (struct mem_request){ r->symbols[t], first[t], SYMBOL_FIRST, false };
		if (!is_pointer(r->symbols[t]) && t != TEXT_FILE)
			return -EBADMSG;
	}
	int done = mem_read_batch(j->mem, requests, nr);
	if (done < 0)
		return done;
	out[TEXT_FILE] = "";
	for (u32 t = 0; t < nr; t++) {
		auto_free char *text = NULL;
		size_t len;
		/* The bytes behind a short Symbol may not be mapped. */
		int err = requests[t].ok ? complete_symbol(j, r->symbols[t], first[t], SYMBOL_FIRST,
							   &text, &len)
					 : method_symbol(j, r->symbols[t], &text, &len);
		if (err && t == TEXT_FILE)
			return 0;
		if (err || (!len && t == TEXT_CLASS))
			return err ? err : -EBADMSG;
		out[t] = t == TEXT_CLASS ? java_names_intern_class(all->names, text, len)
					 : java_names_intern(all->names, text, len);
	}
	return 0;
}

static int read_names(struct methods *all, const struct fingerprint *print, struct method_name *m)
{
	const char *texts[TEXTS];
	struct name_reader r;
	int err = read_pool(all->j, print, &r);

	err = err ? err : read_entries(all->j, &r);
	err = err ? err : read_texts(all, &r, texts);
	if (err)
		return err;
	m->class_name = texts[TEXT_CLASS];
	m->name = texts[TEXT_NAME];
	m->signature = texts[TEXT_SIGNATURE];
	m->file = texts[TEXT_FILE];
	/* Names are never empty, and method descriptors begin like this (JVMS 4.3.3). */
	return m->name[0] && m->signature[0] == '(' ? 0 : -EBADMSG;
}

/* If the ConstMethod is still at `expected` (0: unknown), this takes one system call. */
static int look_at(const struct vm_memory *j, u64 method, u64 expected, struct look *out)
{
	u64 offset = j->build.fields[METHOD_CONST_METHOD].at, nr_unloads;
	struct mem_request requests[] = {
		{ j->unloads, &nr_unloads, sizeof(nr_unloads), false },
		{ method + offset, &out->const_method, sizeof(out->const_method), false },
		{ expected, out->bytes, j->build.sizes[SIZE_CONST_METHOD], false },
	};

	out->unloads = 0;
	out->len = requests[2].len;
	if (!is_pointer(method))
		return -EBADMSG;
	/* Skip the last request if no address is expected, and the first if there is no count. */
	u32 first = !j->unloads, nr = (expected ? 3 : 2) - first;
	int done = mem_read_batch(j->mem, requests + first, nr);
	if (done < 0)
		return done;
	if (requests[0].ok)
		out->unloads = nr_unloads + 1;
	if (!requests[1].ok)
		return -EFAULT;
	if (requests[2].ok && out->const_method == expected)
		return 0;
	return is_pointer(out->const_method)
		       ? mem_read(j->mem, out->const_method, out->bytes, out->len)
		       : -EBADMSG;
}

/*
 * Reads twice and compares: between two reads of a name, a class may be unloaded and another one
 * loaded in its place.
 */
static int read_names_surely(struct methods *all, const struct fingerprint *print,
			     struct method_name *m)
{
	struct method_name again = *m;
	int err = read_names(all, print, m);

	err = err ? err : read_names(all, print, &again);
	if (err)
		return err;
	/* Interned: equal texts have the same pointer. */
	return m->class_name == again.class_name && m->name == again.name &&
			       m->signature == again.signature && m->file == again.file
		       ? 0
		       : -EBADMSG;
}

/*
 * Checks that the Method has not changed while its pieces were read: -EBADMSG if it has. -EAGAIN if
 * classes were unloaded in between.
 */
static int check_method(const struct vm_memory *j, u64 method, const struct look *look,
			bool *is_native)
{
	const struct jvm_field *access = &j->build.fields[METHOD_ACCESS_FLAGS];
	u64 flags = 0, again = 0, nr_unloads = 0;
	struct mem_request requests[] = {
		{ method + access->at, &flags, access->width, false },
		{ method + j->build.fields[METHOD_CONST_METHOD].at, &again, sizeof(again), false },
		{ j->unloads, &nr_unloads, sizeof(nr_unloads), false }, /* last: see unloads.h */
	};
	int done = mem_read_batch(j->mem, requests, j->unloads ? 3 : 2);

	if (done < 0)
		return done;
	if (!requests[1].ok)
		return -EFAULT;
	if (again != look->const_method)
		return -EBADMSG;
	*is_native = flags & ACCESS_NATIVE;
	return (requests[2].ok ? nr_unloads + 1 : 0) == look->unloads ? 0 : -EAGAIN;
}

static int name_method(struct methods *all, u64 method, const struct look *look,
		       struct known_method *out)
{
	const struct vm_memory *j = all->j;
	struct known_method k = { .name = { .const_method = look->const_method } };
	int err = parse_const_method(j, look->bytes, look->len, &k.print);

	err = err ? err : read_names_surely(all, &k.print, &k.name);
	err = err ? err : check_method(j, method, look, &k.name.is_native);
	if (err)
		return err;
	u64 code = j->build.sizes[SIZE_CONST_METHOD] + (u64)k.print.code_size;
	k.name.code_size = k.print.code_size;
	if ((u32)jvm_get(&j->build, CM_FLAGS, look->bytes, look->len) & j->build.has_line_table) {
		k.lines_at = look->const_method + code;
		k.lines_len = (u32)(k.print.size * 8ull - code);
	}
	*out = k;
	return 0;
}

/*
 * Whether the class is still the same: generated classes of one shape may follow each other at the
 * same addresses.
 */
static bool has_same_class(struct methods *all, const struct known_method *k)
{
	const char *class_name;
	u64 holder;

	return !vm_read(all->j, k->print.constants, POOL_HOLDER, &holder) &&
	       !read_class_name(all, holder, &class_name) && class_name == k->name.class_name;
}

static bool is_same(struct methods *all, const struct known_method *k, const struct look *look)
{
	struct fingerprint print;

	return k->name.const_method == look->const_method &&
	       !parse_const_method(all->j, look->bytes, look->len, &print) &&
	       same_print(&print, &k->print) &&
	       (era_has(&k->era, look->unloads) || has_same_class(all, k));
}

/* Keeps `known`: samples taken before its end may still need it. */
static struct known_method *keep(struct methods *all, u64 method, struct known_method *known,
				 const struct known_method *fresh)
{
	if (known && !known->era.from) {
		u32 before = known->before;
		free(known->lines);
		*known = *fresh;
		known->before = before;
		return known;
	}
	if (all->known.nr >= METHODS_MAX)
		methods_clear(all);
	u64 *index = dict_add(&all->by_address, method);
	vec_push(&all->known, *fresh);
	all->known.at[all->known.nr - 1].before = (u32)*index;
	*index = all->known.nr;
	return &all->known.at[all->known.nr - 1];
}

/* The Method known at that count, or the newest one. */
static struct known_method *known_at(struct methods *all, u64 index, u64 unloads)
{
	for (u64 i = index; i; i = all->known.at[i - 1].before)
		if (era_has(&all->known.at[i - 1].era, unloads))
			return &all->known.at[i - 1];
	return index ? &all->known.at[index - 1] : NULL;
}

/* Reads the Method, and its name if it is not the known one. */
static int find_now(struct methods *all, u64 method, u64 unloads, struct known_method **known)
{
	struct known_method *k = *known, fresh;
	struct look look;
	int err = look_at(all->j, method, k ? k->name.const_method : 0, &look);

	all->nr_looks++;
	if (!err && k && is_same(all, k, &look)) {
		k->looked_ns = time_mono_ns();
		era_extend(&k->era, unloads, look.unloads);
		return 0;
	}
	/* The memory has been freed since. */
	if (k && era_has(&k->era, unloads) && look.unloads != k->era.to)
		return 0;
	if (!err && unloads && unloads != look.unloads)
		return -ESTALE;
	err = err ? err : name_method(all, method, &look, &fresh);
	if (err)
		return err;
	fresh.looked_ns = time_mono_ns();
	era_extend(&fresh.era, unloads, look.unloads);
	*known = keep(all, method, k, &fresh);
	return 0;
}

/*
 * Only unloading frees the Method of a frame, and it changes the count (unloads.h). A redefinition
 * also frees Methods that no frame has. The known name is therefore not trusted for long.
 */
static bool is_trusted(const struct known_method *k, u64 unloads)
{
	return k && era_has(&k->era, unloads) && time_mono_ns() - k->looked_ns < METHODS_TRUSTED_NS;
}

int methods_find(struct methods *all, u64 method, u64 unloads, const struct method_name **out)
{
	const struct jvm_build *b = &all->j->build;
	const u64 *index = dict_find(&all->by_address, method);
	struct known_method *known = known_at(all, index ? *index : 0, unloads);
	int err = -EAGAIN;

	if (!vm_has(b, METHOD_CONST_METHOD) || !b->sizes[SIZE_CONST_METHOD] ||
	    b->sizes[SIZE_CONST_METHOD] > OBJECT_MAX)
		return -ENOENT;
	if (is_trusted(known, unloads))
		err = 0;
	for (int i = 0; i < TRIES && err == -EAGAIN; i++)
		err = find_now(all, method, unloads, &known);
	if (err)
		return err;
	if (unloads && !era_has(&known->era, unloads))
		return -ESTALE;
	*out = &known->name;
	return 0;
}

const struct method_name *methods_recall(struct methods *all, u64 method, u64 unloads)
{
	const u64 *index = dict_find(&all->by_address, method);
	struct known_method *known = known_at(all, index ? *index : 0, unloads);

	return known && era_has(&known->era, unloads) ? &known->name : NULL;
}

u64 methods_nr_looks(const struct methods *all)
{
	return all->nr_looks;
}

/* Other tables of unknown length follow the line table: decoding gives its length. */
static void read_lines(struct methods *all, struct known_method *k)
{
	const struct vm_memory *j = all->j;
	u32 len = k->lines_len < LINES_MAX ? k->lines_len : LINES_MAX;
	auto_free u8 *table = xmalloc(len);
	u64 nr_unloads = 0;
	struct mem_request requests[] = {
		{ k->lines_at, table, len, false },
		{ j->unloads, &nr_unloads, sizeof(nr_unloads), false }, /* last: see unloads.h */
	};

	mem_read_batch(j->mem, requests, j->unloads ? 2 : 1);
	if (!era_has(&k->era, requests[1].ok ? nr_unloads + 1 : 0) && !has_same_class(all, k))
		/* the table may be another class's; a later call for this Method reads again */
		return;
	k->lines_at = 0;
	k->lines_len = requests[0].ok ? (u32)line_table_length(table, len, j->jdk >= 20) : 0;
	k->lines = requests[0].ok ? xmemdup(table, k->lines_len) : NULL;
	all->lines_bytes += k->lines_len;
}

u32 methods_line(struct methods *all, const struct method_name *m, s32 bci)
{
	struct known_method *k = (struct known_method *)m;

	if (k->lines_at)
		read_lines(all, k);
	if (k->lines_at)
		return 0;
	return line_table_find(k->lines, k->lines_len, all->j->jdk >= 20, bci < 0 ? 0 : bci);
}
