/* SPDX-License-Identifier: Apache-2.0 */
/* Reads libjvm's tables about its own types, and the layout of objects in one build from these. */
#include "jvm/memory/build.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/vec.h"
#include "hotspot_abi.h"

struct vmfield {
	const char *type, *name; /* "CodeBlob", "_size" */
	const char *type_string; /* "int", "address", ...: gives the width */
	bool is_static;
	u64 at; /* offset in the object; address of the variable if static */
};

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

/* NULL if this JVM does not export the field. */
static const struct vmfield *vmstructs_field(const struct vmstructs *v, const char *type,
					     const char *name)
{
	const u64 *index = dict_find(&v->by_field, hash_pair(type, name));

	if (!index)
		return NULL;

	const struct vmfield *f = &v->fields.at[*index - 1];
	return strcmp(f->type, type) == 0 && strcmp(f->name, name) == 0 ? f : NULL;
}

static bool vmstructs_type_size(const struct vmstructs *v, const char *type, u64 *size)
{
	const u64 *index = dict_find(&v->by_type, hash_text(type));

	if (!index || strcmp(v->types.at[*index - 1].name, type) != 0)
		return false;
	*size = v->types.at[*index - 1].value;
	return true;
}

/* An int or long constant. */
static bool vmstructs_constant(const struct vmstructs *v, const char *name, s64 *value)
{
	const u64 *index = dict_find(&v->by_constant, hash_text(name));

	if (!index || strcmp(v->constants.at[*index - 1].name, name) != 0)
		return false;
	*value = (s64)v->constants.at[*index - 1].value;
	return true;
}

struct field_name {
	enum jvm_slot slot;
	const char *type, *field, *text;
};

#define X(slot, type, field) { slot, type, field, type "::" field " is not exported" },
static const struct field_name field_names[] = { JVM_FIELDS(X) };
static const struct field_name aliases[] = { JVM_ALIASES(X) };
#undef X

#define X(slot, type) [slot] = type,
static const char *const size_names[] = { JVM_SIZES(X) };
#undef X

#define X(name) [JVM_FLAG_##name] = #name,
static const char *const flag_names[] = { JVM_FLAGS(X) };
#undef X

/* The integer types of these fields in JDK 8..28. Any type with a '*' has 8 bytes. */
struct width {
	const char *name;
	u8 width;
	bool is_signed;
};

static const struct width widths[] = {
	{ "int", 4, true },
	{ "jint", 4, true },
	{ "int32_t", 4, true },
	{ "uint", 4, false },
	{ "u4", 4, false },
	{ "uint32_t", 4, false },
	{ "unsigned int", 4, false },
	{ "juint", 4, false },
	{ "OSThread::thread_id_t", 4, true },
	{ "pid_t", 4, true },
	{ "short", 2, true },
	{ "int16_t", 2, true },
	{ "jshort", 2, true },
	{ "u2", 2, false },
	{ "uint16_t", 2, false },
	{ "unsigned short", 2, false },
	{ "jushort", 2, false },
	{ "char", 1, true },
	{ "int8_t", 1, true },
	{ "jbyte", 1, true },
	{ "signed char", 1, true },
	{ "u1", 1, false },
	{ "uint8_t", 1, false },
	{ "bool", 1, false },
	{ "unsigned char", 1, false },
	{ "JVMFlag::Flags", 4, false },
	{ "CodeBlobKind", 1, false },
	{ "CompLevel", 1, false },
	{ "long", 8, true },
	{ "jlong", 8, true },
	{ "intx", 8, true },
	{ "intptr_t", 8, true },
	{ "int64_t", 8, true },
	{ "size_t", 8, false },
	{ "uintx", 8, false },
	{ "uint64_t", 8, false },
	{ "julong", 8, false },
	{ "uintptr_t", 8, false },
	{ "address", 8, false },
	{ "u8", 8, false },
	{ "AccessFlags", 2, false },
	{ "JavaThreadState", 4, true },
};

static struct jvm_field field_of(const struct vmfield *f, u64 bias)
{
	struct jvm_field out = { f->is_static ? f->at - bias : f->at, 8, false };
	const char *type = f->type_string;

	if (strchr(type, '*'))
		return out;
	if (!strncmp(type, "const ", 6))
		type += 6;
	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		if (strcmp(widths[i].name, type) != 0)
			continue;
		out.width = widths[i].width;
		out.is_signed = widths[i].is_signed;
	}
	return out; /* an embedded object: only its offset is used */
}

static void add_fields(const struct vmstructs *tables, u64 bias, const struct field_name *names,
		       size_t nr, struct jvm_build *out)
{
	for (size_t i = 0; i < nr; i++) {
		struct jvm_field *to = &out->fields[names[i].slot];
		const struct vmfield *f =
			to->width ? NULL : vmstructs_field(tables, names[i].type, names[i].field);

		if (f && (f->is_static || f->at < 65536))
			*to = field_of(f, bias);
	}
}

static void add_kinds(const struct vmstructs *tables, struct jvm_build *out)
{
	static const struct {
		const char *name;
		enum hotspot_class class;
	} kinds[] = {
		{ "Nmethod", HOTSPOT_CLASS_NMETHOD },     { "Adapter", HOTSPOT_CLASS_BARE },
		{ "Vtable", HOTSPOT_CLASS_BARE },         { "MHAdapter", HOTSPOT_CLASS_BARE },
		{ "Buffer", HOTSPOT_CLASS_STUB },         { "RuntimeStub", HOTSPOT_CLASS_STUB },
		{ "Deoptimization", HOTSPOT_CLASS_STUB }, { "Safepoint", HOTSPOT_CLASS_STUB },
		{ "Exception", HOTSPOT_CLASS_STUB },      { "UncommonTrap", HOTSPOT_CLASS_STUB },
		{ "Upcall", HOTSPOT_CLASS_STUB },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		char name[64] = "CodeBlobKind::";
		s64 value;

		strcat(name, kinds[i].name);
		if (vmstructs_constant(tables, name, &value) && value >= 0 && value < JVM_NR_KINDS)
			out->kinds[value] = (u8)kinds[i].class;
	}
}

void jvm_build_of_tables(const struct vmstructs *tables, u64 bias, struct jvm_build *out)
{
	s64 bit;
	u64 size;

	memset(out, 0, sizeof(*out));
	add_fields(tables, bias, field_names, ARRAY_SIZE(field_names), out);
	add_fields(tables, bias, aliases, ARRAY_SIZE(aliases), out);
	for (size_t i = 0; i < NR_JVM_SIZES; i++)
		if (vmstructs_type_size(tables, size_names[i], &size) && size < 65536)
			out->sizes[i] = (u32)size;
	add_kinds(tables, out);
	out->has_line_table = 1;
	if (vmstructs_constant(tables, "ConstMethodFlags::_misc_has_linenumber_table", &bit) ||
	    vmstructs_constant(tables, "ConstMethod::_has_linenumber_table", &bit))
		out->has_line_table = (u32)bit;
	out->nr_fields = (u32)tables->fields.nr;
	out->is_cut = tables->cut;
}

s64 jvm_get(const struct jvm_build *b, enum jvm_slot slot, const void *object, size_t len)
{
	const struct jvm_field *f = &b->fields[slot];
	u64 value = 0;

	if (!f->width || f->width > len || f->at > len - f->width)
		return 0;
	memcpy(&value, (const u8 *)object + f->at, f->width);
	if (f->is_signed && f->width < 8) {
		unsigned shift = 64 - 8u * f->width;
		return (s64)(value << shift) >> shift;
	}
	return (s64)value;
}

const char *jvm_slot_missing(enum jvm_slot slot)
{
	return slot < NR_JVM_SLOTS ? field_names[slot].text : "?";
}

const char *jvm_flag_name(enum jvm_flag flag)
{
	return flag < NR_JVM_FLAGS ? flag_names[flag] : "?";
}
