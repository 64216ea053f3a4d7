/* SPDX-License-Identifier: Apache-2.0 */
/* Names of Methods. */
#include "jvm/method.h"

#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/time.h"
#include "base/vec.h"
#include "jvm/scopes.h"

#define CHECK_CLASS_NS                                                               \
	(10 * NS_PER_MS)    /* less than what a collection takes to come round again \
			     */
#define OBJECT_MAX    256   /* bytes of a ConstMethod, pool or Symbol that are read at first */
#define LINES_MAX     65536 /* bytes of a line table */
#define TAG_UTF8      1     /* JVM_CONSTANT_Utf8 */
#define ACCESS_NATIVE 0x100
#define SYMBOL_MAX    65535 /* Symbol::max_length() */
#define SYMBOL_FIRST  80    /* bytes read at once: most names are shorter */

/* What of a ConstMethod tells whether it is still the same one. */
struct fingerprint {
	u64 constants;
	u32 size;
	u16 name_index, signature_index, code_size;
};

struct known_method {
	struct method_name name; /* first: what is handed out leads back here */
	struct fingerprint print;
	u64 checked_ns; /* when its class was last seen to be the same */
	u64 lines_at;   /* the line table in the JVM, 0 if there is none or it was read */
	u32 lines_len;  /* at most; once it was read exactly */
	u8 *lines;
};

struct methods {
	const struct jvm *j;
	struct java_names *names;
	struct dict by_address; /* Method * -> index + 1 */
	VEC(struct known_method) known;
};

struct methods *methods_new(const struct jvm *j, struct java_names *names)
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

/* ConstMethod's fields; -EBADMSG if no ConstMethod can look like that. */
static int parse_const_method(const struct jvm *j, const u8 *bytes, size_t len,
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

static int symbol_length(const struct jvm *j, const u8 *bytes, size_t len)
{
	if (jvm_has(&j->build, SYMBOL_LENGTH))
		return (int)jvm_get(&j->build, SYMBOL_LENGTH, bytes, len);
	/* JDK 12..15: the upper half of a u4 */
	return (int)((u32)jvm_get(&j->build, SYMBOL_LENGTH_AND_REFCOUNT, bytes, len) >> 16);
}

int method_symbol(const struct jvm *j, u64 symbol, char **text, size_t *text_len)
{
	u64 body = j->build.fields[SYMBOL_BODY].at;
	u8 first[SYMBOL_FIRST];

	if (!is_pointer(symbol))
		return -EBADMSG;

	ssize_t n = mem_read_some(j->mem, symbol, first, sizeof(first));
	if (n < 0)
		return (int)n;
	if ((u64)n < body)
		return -EFAULT;

	size_t len = (size_t)symbol_length(j, first, (size_t)n);
	if (len > SYMBOL_MAX)
		return -EBADMSG;
	auto_free char *out = xmalloc(len + 1);
	size_t have = (u64)n - body < len ? (u64)n - body : len;
	memcpy(out, first + body, have);
	int err = mem_read(j->mem, symbol + body + have, out + have, len - have);
	if (err)
		return err;
	*text = take(out);
	*text_len = len;
	return 0;
}

/* A text of the constant pool, interned; -EBADMSG if slot `index` is no text. */
static int read_pool_text(struct methods *all, u64 pool, u32 pool_length, u64 tags, u32 index,
			  const char **out)
{
	const struct jvm *j = all->j;
	u64 slot = pool + j->build.sizes[SIZE_POOL] + 8ull * index, symbol;
	u8 tag;
	/* Array<u1>: an int for its length, then the bytes (oops/array.hpp) */
	struct mem_request requests[] = {
		{ slot, &symbol, sizeof(symbol), false },
		{ tags + 4 + index, &tag, 1, false },
	};
	auto_free char *text = NULL;
	size_t len;

	if (!index || index >= pool_length)
		return -EBADMSG;
	int nr = mem_read_batch(j->mem, requests, ARRAY_SIZE(requests));
	if (nr != ARRAY_SIZE(requests))
		return nr < 0 ? nr : -EFAULT;
	if (tag != TAG_UTF8)
		return -EBADMSG;
	int err = method_symbol(j, symbol & ~1ull, &text, &len);
	if (err)
		return err;
	*out = java_names_intern(all->names, text, len);
	return 0;
}

/* The holder's name, and where the pool has the source file's name (0: nowhere). */
static int read_holder(struct methods *all, u64 holder, struct method_name *m, u32 *file_index)
{
	const struct jvm *j = all->j;
	auto_free char *text = NULL;
	u64 symbol, index;
	size_t len;

	if (!is_pointer(holder))
		return -EBADMSG;
	int err = jvm_read(j, holder, KLASS_NAME, &symbol);
	err = err ? err : method_symbol(j, symbol, &text, &len);
	if (err)
		return err;
	if (!len)
		return -EBADMSG;
	m->class_name = java_names_intern_class(all->names, text, len);
	if (!*file_index && !jvm_read(j, holder, KLASS_SOURCE_FILE, &index))
		*file_index = (u32)index;
	return 0;
}

static int read_names(struct methods *all, const struct fingerprint *print, struct method_name *m)
{
	const struct jvm *j = all->j;
	const struct jvm_build *b = &j->build;
	u8 pool[OBJECT_MAX];
	ssize_t len = mem_read_some(j->mem, print->constants, pool, sizeof(pool));

	if (len < 0)
		return (int)len;

	u32 nr = (u32)jvm_get(b, POOL_LENGTH, pool, (size_t)len);
	u64 tags = (u64)jvm_get(b, POOL_TAGS, pool, (size_t)len);
	u64 holder = (u64)jvm_get(b, POOL_HOLDER, pool, (size_t)len);
	u32 file_index = (u32)jvm_get(b, POOL_SOURCE_FILE, pool, (size_t)len);
	if (!b->sizes[SIZE_POOL] || !is_pointer(tags))
		return -EBADMSG;
	int err = read_pool_text(all, print->constants, nr, tags, print->name_index, &m->name);
	err = err ? err
		  : read_pool_text(all, print->constants, nr, tags, print->signature_index,
				   &m->signature);
	err = err ? err : read_holder(all, holder, m, &file_index);
	if (err)
		return err;
	if (!file_index ||
	    read_pool_text(all, print->constants, nr, tags, file_index, &m->file) != 0)
		m->file = "";
	/* Names are never empty, and descriptors begin like this (JVMS 4.3.3). */
	return m->name[0] && m->signature[0] == '(' ? 0 : -EBADMSG;
}

/* Reads Method and ConstMethod; `expected`: where the latter was last time, 0 if not known. */
static int read_method(const struct jvm *j, u64 method, u64 expected, u8 *const_method, size_t *len,
		       u64 *at)
{
	u64 offset = j->build.fields[METHOD_CONST_METHOD].at;
	struct mem_request both[] = {
		{ method + offset, at, sizeof(*at), false },
		{ expected, const_method, j->build.sizes[SIZE_CONST_METHOD], false },
	};

	if (!is_pointer(method))
		return -EBADMSG;
	*len = both[1].len;
	if (expected) {
		int nr = mem_read_batch(j->mem, both, ARRAY_SIZE(both));
		if (nr < 0)
			return nr;
		if (both[0].ok && both[1].ok && *at == expected)
			return 0;
	}
	int err = mem_read_u64(j->mem, method + offset, at);
	if (err)
		return err;
	return is_pointer(*at) ? mem_read(j->mem, *at, const_method, *len) : -EBADMSG;
}

/*
 * Twice the same: a class may be unloaded, and another one be loaded to its place, between two of
 * the reads that a name takes.
 */
static int read_names_surely(struct methods *all, const struct fingerprint *print,
			     struct method_name *m)
{
	struct method_name again = *m;
	int err = read_names(all, print, m);

	err = err ? err : read_names(all, print, &again);
	if (err)
		return err;
	/* Interned: equal texts are one pointer. */
	return m->class_name == again.class_name && m->name == again.name &&
			       m->signature == again.signature && m->file == again.file
		       ? 0
		       : -EBADMSG;
}

static int name_method(struct methods *all, u64 method, u64 at, const u8 *bytes, size_t len,
		       struct known_method *out)
{
	const struct jvm *j = all->j;
	struct known_method k = { .name = { .const_method = at }, .checked_ns = time_mono_ns() };
	u64 flags = 0, again;
	int err = parse_const_method(j, bytes, len, &k.print);

	err = err ? err : read_names_surely(all, &k.print, &k.name);
	if (err)
		return err;
	if (!jvm_read(j, method, METHOD_ACCESS_FLAGS, &flags))
		k.name.is_native = flags & ACCESS_NATIVE;
	u64 code = j->build.sizes[SIZE_CONST_METHOD] + (u64)k.print.code_size;
	k.name.code_size = k.print.code_size;
	if ((u32)jvm_get(&j->build, CM_FLAGS, bytes, len) & j->build.has_line_table) {
		k.lines_at = at + code;
		k.lines_len = (u32)(k.print.size * 8ull - code);
	}
	/* What was read belongs together only if the Method is still what it was. */
	err = jvm_read(j, method, METHOD_CONST_METHOD, &again);
	if (err)
		return err;
	if (again != at)
		return -EBADMSG;
	*out = k;
	return 0;
}

/*
 * Classes of one shape may follow each other at the very same addresses, with equal fingerprints:
 * generated ones do. Their names differ, so now and then the name is read again.
 */
static bool is_same_class(struct methods *all, struct known_method *k)
{
	struct method_name now = { 0 };
	u32 file_index = 1; /* not asked for */
	u64 time_ns = time_mono_ns(), holder;

	if (time_ns - k->checked_ns < CHECK_CLASS_NS)
		return true;
	k->checked_ns = time_ns;
	return !jvm_read(all->j, k->print.constants, POOL_HOLDER, &holder) &&
	       !read_holder(all, holder, &now, &file_index) && now.class_name == k->name.class_name;
}

int methods_find(struct methods *all, u64 method, const struct method_name **out)
{
	const struct jvm *j = all->j;
	const u64 *index = dict_find(&all->by_address, method);
	struct known_method *known = index ? &all->known.at[*index - 1] : NULL;
	u8 bytes[OBJECT_MAX];
	struct fingerprint print;
	size_t len;
	u64 at;

	if (!jvm_has(&j->build, METHOD_CONST_METHOD) || !j->build.sizes[SIZE_CONST_METHOD] ||
	    j->build.sizes[SIZE_CONST_METHOD] > sizeof(bytes))
		return -ENOENT;
	int err = read_method(j, method, known ? known->name.const_method : 0, bytes, &len, &at);
	if (err)
		return err;
	if (known && known->name.const_method == at && !parse_const_method(j, bytes, len, &print) &&
	    same_print(&print, &known->print) && is_same_class(all, known)) {
		*out = &known->name;
		return 0;
	}
	struct known_method fresh;
	err = name_method(all, method, at, bytes, len, &fresh);
	if (err)
		return err;
	if (!known) {
		if (all->known.nr >= METHODS_MAX)
			methods_clear(all);
		vec_push(&all->known, fresh);
		*dict_add(&all->by_address, method) = all->known.nr;
		known = &all->known.at[all->known.nr - 1];
	} else {
		free(known->lines);
		*known = fresh;
	}
	*out = &known->name;
	return 0;
}

/* The table lies in front of others of unknown number: its length is known once it was decoded. */
static void read_lines(const struct jvm *j, struct known_method *k)
{
	u32 len = k->lines_len < LINES_MAX ? k->lines_len : LINES_MAX;
	auto_free u8 *table = xmalloc(len);

	k->lines_len = 0;
	if (!mem_read(j->mem, k->lines_at, table, len)) {
		k->lines_len = (u32)line_table_length(table, len, j->jdk >= 20);
		k->lines = xmemdup(table, k->lines_len);
	}
	k->lines_at = 0;
}

u32 methods_line(struct methods *all, const struct method_name *m, s32 bci)
{
	struct known_method *k = (struct known_method *)m;

	if (k->lines_at)
		read_lines(all->j, k);
	return line_table_find(k->lines, k->lines_len, all->j->jdk >= 20, bci < 0 ? 0 : bci);
}
