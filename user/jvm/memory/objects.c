/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out how to read a thread's name from a JVM's heap. */
#include "jvm/memory/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/vec.h"
#include "jvm/memory/method.h"
#include "jvm/memory/scopes.h"
#include "proc/mem.h"

#define FIELDS_MAX        256 /* Thread and String have at most 30 */
#define FIELD_WORDS       6   /* u2 each (JDK 8..20) */
#define FIELD_TAG_BITS    2
#define FIELD_INTERNAL    0x400 /* its name is not in the constant pool */
#define STREAM_MAX        8192
#define OFFSET_MAX        4096
#define HAS_INITIALIZER   0x01 /* flags of a field after which one more number follows (JDK 21+) */
#define HAS_GENERIC       0x04
#define HAS_CONTENDED     0x10
#define COMPACT_CLASS_BIT 42 /* of the mark word (JDK 24+) */
#define ZGC_REMAPPED_BIT  12 /* the lowest of four bits, one of which is set (x86-64) */

struct field_info {
	u32 name_index, offset;
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
		if (!(w[0] & FIELD_INTERNAL))
			vec_push(out, (struct field_info){ w[1], (u32)(w[5] << 16 | w[4]) >>
									 FIELD_TAG_BITS });
	}
	return err;
}

/* JDK 21 and later: UNSIGNED5 numbers, two for all and at least five per field. */
static int parse_stream(const u8 *data, size_t len, struct field_infos *out)
{
	u32 nr_java, nr_injected, flags, skipped;
	size_t at = 0;

	if (!unsigned5_read(data, len, &at, true, &nr_java) ||
	    !unsigned5_read(data, len, &at, true, &nr_injected) || nr_java > FIELDS_MAX)
		return -ENOENT;
	for (u32 i = 0; i < nr_java; i++) {
		struct field_info f;
		if (!unsigned5_read(data, len, &at, true, &f.name_index) ||
		    !unsigned5_read(data, len, &at, true, &skipped) || /* signature */
		    !unsigned5_read(data, len, &at, true, &f.offset) ||
		    !unsigned5_read(data, len, &at, true, &skipped) || /* access */
		    !unsigned5_read(data, len, &at, true, &flags))
			return -ENOENT;
		vec_push(out, f);
		for (u32 bits = flags & (HAS_INITIALIZER | HAS_GENERIC | HAS_CONTENDED); bits;
		     bits &= bits - 1)
			if (!unsigned5_read(data, len, &at, true, &skipped))
				return -ENOENT;
	}
	return 0;
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
	return err ? err : parse_stream(data, (size_t)len, out);
}

/* Finds the offset of the field with that name; -ENOENT if there is none. */
static int find_field(const struct vm_memory *j, u64 pool, const struct field_infos *fields,
		      const char *name, u32 *out)
{
	vec_each(f, fields) {
		auto_free char *text = NULL;
		u64 symbol;
		size_t len;
		int err = mem_read_u64(
			j->mem, pool + j->build.sizes[SIZE_POOL] + 8ull * f->name_index, &symbol);

		err = err ? err : method_symbol(j, symbol & ~1ull, &text, &len);
		if (err == -ESRCH)
			return err;
		if (err || len != strlen(name) || memcmp(text, name, len) != 0)
			continue;
		if (!f->offset || f->offset > OFFSET_MAX)
			return -ENOENT;
		*out = f->offset;
		return 0;
	}
	return -ENOENT;
}

/* Reads the fields of a class that the VM has a pointer to. */
static int read_fields(const struct vm_memory *j, enum jvm_slot class, u64 *pool,
		       struct field_infos *out)
{
	u64 klass;
	int err = vm_read_static(j, class, &klass);

	err = err ? err : !klass ? -EFAULT : vm_read(j, klass, KLASS_CONSTANTS, pool);
	if (err)
		return err;
	return vm_has(&j->build, KLASS_FIELD_STREAM) ? read_stream(j, klass, out)
						     : read_array(j, klass, out);
}

static int find_offsets(const struct vm_memory *j, struct objects *o)
{
	struct field_infos thread = { 0 }, string = { 0 };
	u64 pool;

	int err = read_fields(j, THREAD_CLASS, &pool, &thread);
	err = err ? err : find_field(j, pool, &thread, "name", &o->thread_name);
	err = err ? err : find_field(j, pool, &thread, "eetop", &o->thread_eetop);
	err = err ? err : read_fields(j, STRING_CLASS, &pool, &string);
	err = err ? err : find_field(j, pool, &string, "value", &o->string_value);
	if (!err && j->jdk > 8)
		err = find_field(j, pool, &string, "coder", &o->string_coder);
	vec_fini(&thread);
	vec_fini(&string);
	return err;
}

static bool flag(const struct vm_memory *j, enum jvm_flag f)
{
	u64 at = j->build.flags[f];
	u8 value = 0;

	return at && !mem_read(j->mem, at + j->bias, &value, 1) && value;
}

/* The layout of an object's header: the class, and for arrays the length and the first byte. */
static void find_head(const struct vm_memory *j, struct objects *o)
{
	/* JDK 27 has only narrow class pointers, and no flag for them. */
	bool is_narrow = flag(j, JVM_FLAG_UseCompressedClassPointers) || j->jdk >= 27;

	o->class_off = 8;
	o->class_bytes = is_narrow ? 4 : 8;
	o->array_length = is_narrow ? 12 : 16;
	o->array_data = o->array_length + 4;
	if (!is_narrow && j->jdk < 23)
		o->array_data = 24;
	if (flag(j, JVM_FLAG_UseCompactObjectHeaders)) {
		o->class_off = 0;
		o->class_bytes = 8;
		o->class_shift = COMPACT_CLASS_BIT;
		o->array_length = 8;
		o->array_data = 12;
	}
}

int objects_find(const struct vm_memory *j, struct objects *out)
{
	struct objects o = { .reference_bytes = 8, .is_handle = j->jdk >= 16 };
	u64 shift = 0;

	if (!vm_has(&j->build, THREAD_OBJECT) || !j->jdk)
		return -ENOENT;
	int err = find_offsets(j, &o);
	if (err)
		return err;
	find_head(j, &o);
	if (flag(j, JVM_FLAG_UseCompressedOops)) {
		o.reference_bytes = 4;
		err = vm_read_static(j, NARROW_OOP_BASE, &o.narrow_base);
		err = err ? err : vm_read_static(j, NARROW_OOP_SHIFT, &shift);
		if (err || shift > 8)
			return err ? err : -ENOENT;
		o.narrow_shift = (u32)shift;
	}
	o.is_colored =
		flag(j, JVM_FLAG_UseZGC) && (j->jdk >= 24 || flag(j, JVM_FLAG_ZGenerational));
	*out = o;
	return 0;
}

u64 objects_root(const struct objects *o, u64 reference)
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

u64 objects_address(const struct objects *o, u64 reference)
{
	if (o->reference_bytes == 8)
		return objects_root(o, reference);
	return reference ? o->narrow_base + (reference << o->narrow_shift) : 0;
}
