/* SPDX-License-Identifier: Apache-2.0 */
/* Reads libjvm's tables about its own types. */
#include "jvm/memory/vmstructs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/vec.h"

#define ENTRIES_MAX 20000 /* per table: JDK 8..28 have at most 840 */
#define STRIDE_MAX  256
#define TEXT_MAX    256 /* of a name or type string */
#define CHUNK_SIZE  16384
#define NR_CHUNKS   64    /* cached at a time: names are close together in .rodata */
#define LOADS_MAX   20000 /* chunk reads for one JVM; about 60 are needed */

/* A read cache: one system call per 16 KB instead of one per string. */
struct reader {
	struct mem *mem;
	const struct image *img;
	u32 loads;
	struct chunk {
		u64 addr, len;
		u8 bytes[CHUNK_SIZE];
	} chunks[NR_CHUNKS + 1]; /* the last one is for the tables themselves */
};

/* A named value: the size of a type, or a constant. */
struct named {
	const char *name;
	u64 value;
};

struct vmstructs {
	VEC(struct vmfield) fields;
	VEC(struct named) types, constants;
	struct dict by_field, by_type, by_constant; /* hash of the name -> index */
	struct dict texts;                          /* hash -> char *, owned */
	bool cut;
};

static bool holds(const struct chunk *c, u64 addr)
{
	return addr >= c->addr && addr - c->addr < c->len;
}

static int load(struct reader *r, u64 addr, bool is_table, struct chunk **out)
{
	u64 start = addr & ~(u64)(CHUNK_SIZE - 1);
	struct chunk *c = &r->chunks[is_table ? NR_CHUNKS : start / CHUNK_SIZE % NR_CHUNKS];
	ssize_t n;

	*out = c;
	if (holds(c, addr))
		return 0;
	if (++r->loads > LOADS_MAX)
		return -E2BIG;
	c->addr = start;
	n = mem_read_some(r->mem, start, c->bytes, CHUNK_SIZE);
	c->len = n > 0 ? (u64)n : 0;
	if (!holds(c, addr)) { /* the start of the chunk may be unmapped: read only the page */
		c->addr = addr & ~(u64)4095;
		n = mem_read_some(r->mem, c->addr, c->bytes, 4096);
		c->len = n > 0 ? (u64)n : 0;
	}
	if (holds(c, addr))
		return 0;
	return n == -ESRCH ? -ESRCH : -EFAULT;
}

static int read_bytes(struct reader *r, u64 addr, bool is_table, void *buf, size_t len)
{
	for (u8 *to = buf; len;) {
		struct chunk *c;
		int err = load(r, addr, is_table, &c);
		if (err)
			return err;
		size_t part = c->len - (addr - c->addr);
		part = part < len ? part : len;
		memcpy(to, c->bytes + (addr - c->addr), part);
		to += part;
		addr += part;
		len -= part;
	}
	return 0;
}

static u64 hash_text(const char *text)
{
	return hash_keyed(text, strlen(text));
}

static u64 hash_pair(const char *type, const char *name)
{
	return hash_u64(hash_text(type)) ^ hash_text(name);
}

/* Reads the text at `addr`, owned by `v`; equal texts are stored once. */
static int read_text(struct reader *r, struct vmstructs *v, u64 addr, const char **out)
{
	char text[TEXT_MAX];
	size_t len = 0;

	for (bool ends = false; !ends;) {
		struct chunk *c;
		int err = load(r, addr + len, false, &c);
		if (err)
			return err;

		const u8 *from = c->bytes + (addr + len - c->addr);
		size_t part = c->len - (addr + len - c->addr);
		const u8 *nul = memchr(from, '\0', part);
		ends = nul;
		part = nul ? (size_t)(nul - from) + 1 : part;
		if (part > sizeof(text) - len)
			return -ENAMETOOLONG;
		memcpy(text + len, from, part);
		len += part;
	}

	u64 *place = dict_add(&v->texts, hash_text(text));
	if (!*place)
		*place = (u64)(uintptr_t)xstrdup(text);
	*out = (const char *)(uintptr_t)*place;
	return strcmp(*out, text) == 0 ? 0 : -EBADMSG; /* a collision in 64 bits is deliberate */
}

/* Reads one of the variables that describe the tables. */
static int read_variable(struct reader *r, const char *name, u64 *out)
{
	u64 addr;
	int err = image_find_symbol(r->img, name, &addr);

	return err ? err : read_bytes(r, addr, false, out, sizeof(*out));
}

/* A table: its start, the distance between entries, and the offset of each column. */
struct table {
	u64 start, stride, at[6];
};

static int find_table(struct reader *r, const char *base, const char *entry,
		      const char *const columns[], size_t nr_columns, struct table *t)
{
	char name[96];
	int err = read_variable(r, base, &t->start);

	if (err)
		return err;
	if (!t->start)
		return -EAGAIN;
	snprintf(name, sizeof(name), "%sArrayStride", entry);
	err = read_variable(r, name, &t->stride);
	if (err)
		return err;
	if (t->stride < 8 || t->stride > STRIDE_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < nr_columns; i++) {
		snprintf(name, sizeof(name), "%s%sOffset", entry, columns[i]);
		err = read_variable(r, name, &t->at[i]);
		if (err)
			return err;
		if (t->at[i] > t->stride - 4)
			return -EBADMSG;
	}
	return 0;
}

static u64 cell(const struct table *t, const u8 *entry, int column)
{
	u64 value = 0;
	size_t len = t->stride - t->at[column];

	memcpy(&value, entry + t->at[column], len < 8 ? len : 8);
	return value;
}

/* Calls `add` for each entry up to the one without a name. An unreadable entry ends the table. */
static int read_table(struct reader *r, struct vmstructs *v, const struct table *t,
		      int (*add)(struct reader *r, struct vmstructs *v, const struct table *t,
				 const u8 *entry))
{
	u8 entry[STRIDE_MAX];
	int err;

	for (u32 i = 0; i < ENTRIES_MAX; i++) {
		err = read_bytes(r, t->start + i * t->stride, true, entry, t->stride);
		if (!err && !cell(t, entry, 0))
			return 0;
		if (!err)
			err = add(r, v, t, entry);
		if (err == -ESRCH)
			return err;
		if (err && err != -ENAMETOOLONG)
			break;
	}
	v->cut = true;
	return 0;
}

static int add_field(struct reader *r, struct vmstructs *v, const struct table *t, const u8 *entry)
{
	struct vmfield f = { .type_string = "" };
	int err = read_text(r, v, cell(t, entry, 0), &f.type);

	if (err)
		return err;
	err = read_text(r, v, cell(t, entry, 1), &f.name);
	if (err)
		return err;
	if (cell(t, entry, 2))
		(void)read_text(r, v, cell(t, entry, 2), &f.type_string);
	f.is_static = (u32)cell(t, entry, 3) != 0;
	f.at = cell(t, entry, f.is_static ? 5 : 4);
	u64 *place = dict_add(&v->by_field, hash_pair(f.type, f.name));
	if (!*place) /* the first of equal ones counts */
		*place = v->fields.nr + 1;
	vec_push(&v->fields, f);
	return 0;
}

static int add_type(struct reader *r, struct vmstructs *v, const struct table *t, const u8 *entry)
{
	struct named n = { .value = cell(t, entry, 1) };
	int err = read_text(r, v, cell(t, entry, 0), &n.name);

	if (err)
		return err;
	vec_push(&v->types, n);
	*dict_add(&v->by_type, hash_text(n.name)) = v->types.nr;
	return 0;
}

static int add_constant(struct vmstructs *v, const char *name, u64 value)
{
	vec_push(&v->constants, (struct named){ name, value });
	*dict_add(&v->by_constant, hash_text(name)) = v->constants.nr;
	return 0;
}

static int add_int(struct reader *r, struct vmstructs *v, const struct table *t, const u8 *entry)
{
	const char *name;
	int err = read_text(r, v, cell(t, entry, 0), &name);

	return err ? err : add_constant(v, name, (u64)(s64)(s32)cell(t, entry, 1));
}

static int add_long(struct reader *r, struct vmstructs *v, const struct table *t, const u8 *entry)
{
	const char *name;
	int err = read_text(r, v, cell(t, entry, 0), &name);

	return err ? err : add_constant(v, name, cell(t, entry, 1));
}

static int read_all(struct reader *r, struct vmstructs *v)
{
	static const char *const field_columns[] = { "TypeName", "FieldName", "TypeString",
						     "IsStatic", "Offset",    "Address" };
	static const char *const type_columns[] = { "TypeName", "Size" };
	static const char *const constant_columns[] = { "Name", "Value" };
	struct table t;
	int err = find_table(r, "gHotSpotVMStructs", "gHotSpotVMStructEntry", field_columns,
			     ARRAY_SIZE(field_columns), &t);

	err = err ? err : read_table(r, v, &t, add_field);
	err = err ? err
		  : find_table(r, "gHotSpotVMTypes", "gHotSpotVMTypeEntry", type_columns,
			       ARRAY_SIZE(type_columns), &t);
	err = err ? err : read_table(r, v, &t, add_type);
	err = err ? err
		  : find_table(r, "gHotSpotVMIntConstants", "gHotSpotVMIntConstantEntry",
			       constant_columns, ARRAY_SIZE(constant_columns), &t);
	err = err ? err : read_table(r, v, &t, add_int);
	if (err)
		return err;
	/* No required constant is a long. */
	err = find_table(r, "gHotSpotVMLongConstants", "gHotSpotVMLongConstantEntry",
			 constant_columns, ARRAY_SIZE(constant_columns), &t);
	err = err ? err : read_table(r, v, &t, add_long);
	return err == -ESRCH ? err : 0;
}

AUTO_DEFINE(vmstructs, struct vmstructs *, vmstructs_free)
#define auto_vmstructs __attribute__((cleanup(auto_vmstructs_run)))

int vmstructs_read(struct mem *m, const struct image *img, struct vmstructs **out)
{
	auto_vmstructs struct vmstructs *v = xcalloc(1, sizeof(*v));
	auto_free struct reader *r = xcalloc(1, sizeof(*r));

	r->mem = m;
	r->img = img;
	int err = read_all(r, v);
	if (err)
		return err;
	*out = take(v);
	return 0;
}

void vmstructs_free(struct vmstructs *v)
{
	if (!v)
		return;
	dict_each(slot, &v->texts)
		free((void *)(uintptr_t)slot->value);
	dict_fini(&v->texts);
	dict_fini(&v->by_field);
	dict_fini(&v->by_type);
	dict_fini(&v->by_constant);
	vec_fini(&v->fields);
	vec_fini(&v->types);
	vec_fini(&v->constants);
	free(v);
}

const struct vmfield *vmstructs_field(const struct vmstructs *v, const char *type, const char *name)
{
	const u64 *index = dict_find(&v->by_field, hash_pair(type, name));

	if (!index)
		return NULL;

	const struct vmfield *f = &v->fields.at[*index - 1];
	return strcmp(f->type, type) == 0 && strcmp(f->name, name) == 0 ? f : NULL;
}

bool vmstructs_type_size(const struct vmstructs *v, const char *type, u64 *size)
{
	const u64 *index = dict_find(&v->by_type, hash_text(type));

	if (!index || strcmp(v->types.at[*index - 1].name, type) != 0)
		return false;
	*size = v->types.at[*index - 1].value;
	return true;
}

bool vmstructs_constant(const struct vmstructs *v, const char *name, s64 *value)
{
	const u64 *index = dict_find(&v->by_constant, hash_text(name));

	if (!index || strcmp(v->constants.at[*index - 1].name, name) != 0)
		return false;
	*value = (s64)v->constants.at[*index - 1].value;
	return true;
}

bool vmstructs_is_cut(const struct vmstructs *v)
{
	return v->cut;
}

size_t vmstructs_nr(const struct vmstructs *v)
{
	return v->fields.nr;
}
