/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects on the heap of a JVM: references, headers, fields. Private to user/jvm.
 *
 * Sources: OpenJDK src/hotspot/share oops/{fieldInfo,compressedOops,compressedKlass,arrayOop}.hpp,
 * gc/z/zAddress.hpp.
 */
#pragma once

#include "base/vec.h"
#include "jvm/memory/vm_memory.h"

/* How one JVM encodes references and headers. */
struct java_objects {
	u64 narrow_base; /* of references of 4 bytes */
	u32 narrow_shift;
	u32 reference_bytes; /* 4 or 8; 0: not found yet */
	u64 klass_base;      /* of narrow class pointers; both 0 for wide ones */
	u32 klass_shift;
	u32 class_off, class_bytes, class_shift; /* where an object's header has its class */
	u32 array_length, array_data;            /* array_data: of bytes */
	u32 array_references;                    /* the first reference of an array of objects */
	bool is_colored;                         /* references are those of generational ZGC */
};

/*
 * -ENOENT if this build does not export what is needed, -EFAULT or -ESRCH if it cannot be read
 * (yet).
 */
int java_objects_find(const struct vm_memory *j, struct java_objects *out);

/* The address of a reference outside the heap, which always has 8 bytes; 0 for null. */
u64 java_root(const struct java_objects *o, u64 reference);

/* The address of a reference read from a field; 0 for null. */
u64 java_address(const struct java_objects *o, u64 reference);

/* The value that headers of this Klass's objects have. */
u64 java_class_value(const struct java_objects *o, u64 klass);

/*
 * Parts of an object of which the first `len` bytes were read. 0 if the part lies beyond.
 * java_part_class is the value that java_class_value gives.
 */
u64 java_part(const void *object, size_t len, u32 off, u32 width);
u64 java_part_reference(const struct java_objects *o, const void *object, size_t len, u32 off);
u64 java_part_class(const struct java_objects *o, const void *object, size_t len);

#define JAVA_FIELD_NAME_MAX 32

struct java_field {
	char name[JAVA_FIELD_NAME_MAX]; /* longer ones are cut */
	u32 offset;                     /* in the object; of a static field in its class's mirror */
};

/* The fields that a class itself declares, without those of its superclasses. */
struct java_fields {
	VEC(struct java_field) list;
	VEC(u32) injected; /* offsets of the fields that HotSpot adds, in their order */
};

/* -ENOENT, -EFAULT, -ESRCH. The first one is for a class that the VM has a pointer to. */
int java_fields_of(const struct vm_memory *j, enum jvm_slot class, struct java_fields *out);
int java_fields_read(const struct vm_memory *j, u64 klass, struct java_fields *out);
void java_fields_fini(struct java_fields *f);

/* -ENOENT if the class has no field of that name. */
int java_field_find(const struct java_fields *f, const char *name, u32 *offset);

/*
 * Converts Latin-1, or UTF-16 if `is_wide`, to clean UTF-8 of at most `max` bytes, for the caller
 * to free.
 */
char *java_text_decode(const u8 *bytes, size_t len, bool is_wide, size_t max);
