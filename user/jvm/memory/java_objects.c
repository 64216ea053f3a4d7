/* SPDX-License-Identifier: Apache-2.0 */
/* Objects on the heap of a JVM: references, headers, fields. */
#include "jvm/memory/java_objects.h"

#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "jvm/memory/method.h"
#include "jvm/memory/scopes.h"

#define FIELDS_MAX        256 /* Thread and String have at most 30 */
#define FIELD_WORDS       6   /* u2 each (JDK 8..20) */
#define FIELD_TAG_BITS    2
#define FIELD_INTERNAL    0x400 /* its name is not in the constant pool */
#define STREAM_MAX        8192
#define OFFSET_MAX        4096
#define SUPERS_MAX        64
#define HAS_INITIALIZER   0x01 /* flags of a field after which one more number follows (JDK 21+) */
#define HAS_GENERIC       0x04
#define HAS_CONTENDED     0x10
#define VALUE_CLASS_FLAGS 3
#define COMPACT_CLASS_BIT 42 /* of the mark word (JDK 24+) */
#define STRING_BYTES      32
#define ARRAY_BYTES       160
#define ZGC_REMAPPED_BIT  12 /* the lowest of four bits, one of which is set (x86-64) */

struct field_info {
	u32 name_index, signature_index, offset;
	bool is_injected; /* its name is not in the constant pool */
};

struct field_infos {
	struct field_info *at;
	size_t nr, cap;
};

/* JDK 8 to 20: an Array<u2>, six numbers per field. */
static int read_array(const struct vm_memory *j, u64 klass, struct field_infos *out)
{
	u16 words[FIELDS_MAX * FIELD_WORDS];
	u64 array, nr;
	s32 len;

	int err = vm_read(j, klass, KLASS_FIELDS, &array);
	err = err ? err : vm_read(j, klass, KLASS_NR_FIELDS, &nr);
	err = err ? err : mem_read(j->mem, array, &len, sizeof(len));
	if (err)
		return err;
	if (nr > FIELDS_MAX || len < 0 || (u64)len < nr * FIELD_WORDS)
		return -ENOENT;
	err = mem_read(j->mem, array + 4, words, nr * FIELD_WORDS * sizeof(words[0]));
	for (size_t i = 0; !err && i < nr; i++) {
		const u16 *w = words + i * FIELD_WORDS;
		u32 offset = (u32)(w[5] << 16 | w[4]) >> FIELD_TAG_BITS;
		if (!(w[0] & FIELD_INTERNAL))
			vec_push(out, (struct field_info){ w[1], w[2], offset, false });
	}
	return err;
}

/*
 * JDK 21 and later: UNSIGNED5 numbers, two for all and at least five per field. Value classes
 * (JDK 28) put flags below the others: `shift` is their number. -ENOENT if the numbers do not end
 * where the stream does.
 */
static int parse_stream(const u8 *data, size_t len, u32 shift, struct field_infos *out)
{
	u32 nr_java, nr_injected, flags, skipped;
	size_t at = 0;

	out->nr = 0;
	if (!unsigned5_read(data, len, &at, true, &nr_java) ||
	    !unsigned5_read(data, len, &at, true, &nr_injected) || nr_java > FIELDS_MAX ||
	    nr_injected > FIELDS_MAX)
		return -ENOENT;
	for (u32 i = 0; i < nr_java + nr_injected; i++) {
		struct field_info f = { .is_injected = i >= nr_java };
		if (!unsigned5_read(data, len, &at, true, &f.name_index) ||
		    !unsigned5_read(data, len, &at, true, &f.signature_index) ||
		    !unsigned5_read(data, len, &at, true, &f.offset) ||
		    !unsigned5_read(data, len, &at, true, &skipped) || /* access */
		    !unsigned5_read(data, len, &at, true, &flags))
			return -ENOENT;
		vec_push(out, f);
		u32 bits = flags >> shift & (HAS_INITIALIZER | HAS_GENERIC | HAS_CONTENDED);
		for (; bits; bits &= bits - 1)
			if (!unsigned5_read(data, len, &at, true, &skipped))
				return -ENOENT;
	}
	return at >= len || !data[at] ? 0 : -ENOENT;
}

static int read_stream(const struct vm_memory *j, u64 klass, struct field_infos *out)
{
	u8 data[STREAM_MAX];
	u64 array;
	s32 len;

	int err = vm_read(j, klass, KLASS_FIELD_STREAM, &array);
	err = err ? err : mem_read(j->mem, array, &len, sizeof(len));
	if (err)
		return err;
	if (len < 0 || len > STREAM_MAX)
		return -ENOENT;
	err = mem_read(j->mem, array + 4, data, (size_t)len);
	if (err || !parse_stream(data, (size_t)len, 0, out))
		return err;
	return parse_stream(data, (size_t)len, VALUE_CLASS_FLAGS, out);
}

/* A field whose name cannot be read is left out. */
static int add_field(const struct vm_memory *j, u64 pool, const struct field_info *f,
		     struct java_fields *out)
{
	struct java_field field = { .offset = f->offset };
	auto_free char *text = NULL;
	u64 symbol;
	size_t len;

	if (!f->offset || f->offset > OFFSET_MAX)
		return 0;
	if (f->is_injected) {
		vec_push(&out->injected, f->offset);
		return 0;
	}
	int err = mem_read_u64(j->mem, pool + j->build.sizes[SIZE_POOL] + 8ull * f->name_index,
			       &symbol);
	err = err ?: method_symbol(j, symbol & ~1ull, &text, &len);
	if (err)
		return err == -ESRCH ? err : 0;
	memcpy(field.name, text, len < sizeof(field.name) - 1 ? len : sizeof(field.name) - 1);
	vec_push(&out->list, field);
	return 0;
}

static int read_infos(const struct vm_memory *j, u64 klass, u64 *pool, struct field_infos *out)
{
	int err = klass ? vm_read(j, klass, KLASS_CONSTANTS, pool) : -EFAULT;

	return err
		       ?: (vm_has(&j->build, KLASS_FIELD_STREAM) ? read_stream
								 : read_array)(j, klass, out);
}

int java_fields_read(const struct vm_memory *j, u64 klass, struct java_fields *out)
{
	struct field_infos infos = { 0 };
	u64 pool;

	out->list.nr = out->injected.nr = 0;
	int err = read_infos(j, klass, &pool, &infos);
	for (size_t i = 0; !err && i < infos.nr; i++)
		err = add_field(j, pool, &infos.at[i], out);
	vec_fini(&infos);
	return err;
}

/* The Symbol of a constant; the caller frees `*text`. */
static int read_constant(const struct vm_memory *j, u64 pool, u32 index, char **text, size_t *len)
{
	u64 symbol;
	int err = mem_read_u64(j->mem, pool + j->build.sizes[SIZE_POOL] + 8ull * index, &symbol);

	return err ?: method_symbol(j, symbol & ~1ull, text, len);
}

static int find_own_field(const struct vm_memory *j, u64 klass, const char *name, u32 *offset,
			  char *type)
{
	struct field_infos infos = { 0 };
	u64 pool;
	bool is_found = false;
	int err = read_infos(j, klass, &pool, &infos);

	for (size_t i = 0; !err && !is_found && i < infos.nr; i++) {
		const struct field_info *f = &infos.at[i];
		auto_free char *text = NULL, *signature = NULL;
		size_t len = 0;
		if (f->is_injected || !f->offset || f->offset > OFFSET_MAX ||
		    read_constant(j, pool, f->name_index, &text, &len) || len != strlen(name) ||
		    memcmp(text, name, len) != 0)
			continue;
		err = read_constant(j, pool, f->signature_index, &signature, &len);
		is_found = !err && len;
		*type = is_found ? signature[0] : '\0';
		*offset = f->offset;
	}
	vec_fini(&infos);
	return err ? err : is_found ? 0 : -ENOENT;
}

int java_field_of(const struct vm_memory *j, u64 klass, const char *name, u32 *offset, char *type)
{
	int err = -ENOENT;

	for (int i = 0; i < SUPERS_MAX && klass && err == -ENOENT; i++) {
		err = find_own_field(j, klass, name, offset, type);
		if (err == -ENOENT && vm_read(j, klass, KLASS_SUPER, &klass))
			return -EFAULT;
	}
	return err;
}

int java_fields_of(const struct vm_memory *j, enum jvm_slot class, struct java_fields *out)
{
	u64 klass;
	int err = vm_read_static(j, class, &klass);

	return err ?: java_fields_read(j, klass, out);
}

void java_fields_fini(struct java_fields *f)
{
	vec_fini(&f->list);
	vec_fini(&f->injected);
}

int java_field_find(const struct java_fields *f, const char *name, u32 *offset)
{
	vec_each(field, &f->list) {
		if (strcmp(field->name, name) != 0)
			continue;
		*offset = field->offset;
		return 0;
	}
	return -ENOENT;
}

static bool flag(const struct vm_memory *j, enum jvm_flag f)
{
	u64 at = j->build.flags[f];
	u8 value = 0;

	return at && !mem_read(j->mem, at + j->bias, &value, 1) && value;
}

/* The layout of an object's header: the class, and for arrays the length and the first byte. */
static void find_head(const struct vm_memory *j, struct java_objects *o)
{
	/* JDK 27 has only narrow class pointers, and no flag for them. */
	bool is_narrow = flag(j, JVM_FLAG_UseCompressedClassPointers) || j->jdk >= 27;
	u64 shift = 0;

	o->class_off = 8;
	o->class_bytes = is_narrow ? 4 : 8;
	o->array_length = is_narrow ? 12 : 16;
	o->array_data = o->array_length + 4;
	if (!is_narrow && j->jdk < 23)
		o->array_data = 24;
	if (flag(j, JVM_FLAG_UseCompactObjectHeaders)) {
		is_narrow = true;
		o->class_off = 0;
		o->class_bytes = 8;
		o->class_shift = COMPACT_CLASS_BIT;
		o->array_length = 8;
		o->array_data = 12;
	}
	if (is_narrow && !vm_read_static(j, NARROW_KLASS_SHIFT, &shift) && shift <= 16 &&
	    !vm_read_static(j, NARROW_KLASS_BASE, &o->klass_base))
		o->klass_shift = (u32)shift;
}

int java_objects_find(const struct vm_memory *j, struct java_objects *out)
{
	struct java_objects o = { .reference_bytes = 8 };
	u64 shift = 0;

	if (!j->jdk)
		return -ENOENT;
	find_head(j, &o);
	if (flag(j, JVM_FLAG_UseCompressedOops)) {
		o.reference_bytes = 4;
		int err = vm_read_static(j, NARROW_OOP_BASE, &o.narrow_base);
		err = err ? err : vm_read_static(j, NARROW_OOP_SHIFT, &shift);
		if (err || shift > 8)
			return err ? err : -ENOENT;
		o.narrow_shift = (u32)shift;
	}
	o.array_references = (o.array_length + 4 + o.reference_bytes - 1) / o.reference_bytes *
			     o.reference_bytes;
	if (o.array_references < o.array_data)
		o.array_references = o.array_data;
	o.is_colored =
		flag(j, JVM_FLAG_UseZGC) && (j->jdk >= 24 || flag(j, JVM_FLAG_ZGenerational));
	*out = o;
	return 0;
}

u64 java_root(const struct java_objects *o, u64 reference)
{
	if (!o->is_colored)
		return reference;
#ifdef __x86_64__
	u32 bits = reference >> ZGC_REMAPPED_BIT & 0xf;
	return bits ? reference >> (ZGC_REMAPPED_BIT + 1 + __builtin_ctz(bits)) : 0;
#else
	return reference >> 16;
#endif
}

u64 java_address(const struct java_objects *o, u64 reference)
{
	if (o->reference_bytes == 8)
		return java_root(o, reference);
	return reference ? o->narrow_base + (reference << o->narrow_shift) : 0;
}

u64 java_class_value(const struct java_objects *o, u64 klass)
{
	return (klass - o->klass_base) >> o->klass_shift;
}

u64 java_part(const void *object, size_t len, u32 off, u32 width)
{
	u64 value = 0;

	if (off < len && width <= len - off)
		memcpy(&value, (const char *)object + off, width);
	return value;
}

u64 java_part_reference(const struct java_objects *o, const void *object, size_t len, u32 off)
{
	return java_address(o, java_part(object, len, off, o->reference_bytes));
}

u64 java_part_class(const struct java_objects *o, const void *object, size_t len)
{
	return java_part(object, len, o->class_off, o->class_bytes) >> o->class_shift;
}

static void add_code_point(struct str *out, u32 c)
{
	const u32 lead = c < 0x800 ? 0xc0 : c < 0x10000 ? 0xe0 : 0xf0;
	const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

	if (c < 0x80) {
		str_add_char(out, c ? (char)c : '?');
		return;
	}
	str_add_char(out, (char)(lead | c >> 6 * more));
	for (int i = more; i-- > 0;)
		str_add_char(out, (char)(0x80 | (c >> 6 * i & 0x3f)));
}

char *java_text_decode(const u8 *bytes, size_t len, bool is_wide, size_t max)
{
	struct str utf8 = { 0 }, clean = { 0 };

	str_add(&utf8, "");
	for (size_t i = 0; i + is_wide < len; i += 1 + is_wide) {
		u32 c = is_wide ? bytes[i] | (u32)bytes[i + 1] << 8 : bytes[i];
		u32 low = is_wide && i + 3 < len ? bytes[i + 2] | (u32)bytes[i + 3] << 8 : 0;
		if (c >> 10 == 0x36 && low >> 10 == 0x37) {
			c = 0x10000 + ((c & 0x3ff) << 10) + (low & 0x3ff);
			i += 2;
		}
		add_code_point(&utf8, c);
	}
	utf8_clean(&clean, utf8.at, max);
	str_fini(&utf8);
	return str_take(&clean);
}

int java_read_each(struct mem *m, const u64 *addrs, size_t nr, void *out, u32 bytes)
{
	auto_free struct mem_request *requests = xcalloc(nr + 1, sizeof(*requests));
	size_t wanted = 0;

	memset(out, 0, nr * (size_t)bytes);
	for (size_t i = 0; i < nr; i++)
		if (addrs[i])
			requests[wanted++] =
				(struct mem_request){ addrs[i], (char *)out + i * (size_t)bytes,
						      bytes, false };
	int got = wanted ? mem_read_batch(m, requests, wanted) : 0;
	if (got < 0)
		return got;
	for (size_t i = 0; i < wanted; i++)
		if (!requests[i].ok)
			memset(requests[i].buf, 0, bytes);
	return 0;
}

int java_follow(const struct vm_memory *j, const struct java_objects *o, u64 *addrs, size_t nr,
		u32 off)
{
	for (size_t i = 0; i < nr; i++)
		addrs[i] += addrs[i] ? off : 0;
	auto_free u8 *raw = xcalloc(nr + 1, o->reference_bytes);
	int err = java_read_each(j->mem, addrs, nr, raw, o->reference_bytes);
	for (size_t i = 0; i < nr; i++)
		addrs[i] =
			java_address(o, java_part(raw, nr * o->reference_bytes,
						  (u32)i * o->reference_bytes, o->reference_bytes));
	return err;
}

/* The text of an array of bytes of which the first ones were read. */
static char *text_of(const struct java_objects *o, const u8 *array, bool is_wide, size_t max)
{
	u64 len = java_part(array, ARRAY_BYTES, o->array_length, 4);
	u64 most = ARRAY_BYTES - o->array_data;

	return java_text_decode(array + o->array_data, len < most ? len : most, is_wide, max);
}

int java_strings_read(const struct vm_memory *j, const struct java_objects *o,
		      const struct string_fields *f, const u64 *strings, size_t nr, size_t max,
		      char **out)
{
	u64 class = java_class_value(o, f->klass);
	auto_free u64 *at = xcalloc(nr + 1, sizeof(*at));
	auto_free u8 *heads = xcalloc(nr + 1, STRING_BYTES);
	auto_free u8 *arrays = xcalloc(nr + 1, ARRAY_BYTES);
	int err = java_read_each(j->mem, strings, nr, heads, STRING_BYTES);

	for (size_t i = 0; i < nr; i++) {
		const u8 *head = heads + i * STRING_BYTES;
		bool is_string = strings[i] && java_part_class(o, head, STRING_BYTES) == class;
		at[i] = is_string ? java_part_reference(o, head, STRING_BYTES, f->value) : 0;
	}
	err = err ?: java_read_each(j->mem, at, nr, arrays, ARRAY_BYTES);
	for (size_t i = 0; i < nr; i++) {
		const u8 *head = heads + i * STRING_BYTES;
		bool is_wide = java_part(head, STRING_BYTES, f->coder, 1) == 1;
		out[i] = !err && at[i] ? text_of(o, arrays + i * ARRAY_BYTES, is_wide, max) : NULL;
	}
	return err;
}
