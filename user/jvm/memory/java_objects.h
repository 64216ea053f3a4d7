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

/*
 * Reads the same number of bytes at each address; what cannot be read is zeroed. Returns 0 or
 * -ESRCH.
 */
int java_read_each(struct mem *m, const u64 *addrs, size_t nr, void *out, u32 bytes);

/* Replaces each address (0: none) by that of the object in its field at `off`; 0 or -ESRCH. */
int java_follow(const struct vm_memory *j, const struct java_objects *o, u64 *addrs, size_t nr,
		u32 off);

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

/*
 * The field of a class or of its superclasses: its offset, and the first letter of its descriptor
 * ('L', '[', 'I', ..). -ENOENT if there is none.
 */
int java_field_of(const struct vm_memory *j, u64 klass, const char *name, u32 *offset, char *type);

/* -ENOENT if the class has no field of that name. */
int java_field_find(const struct java_fields *f, const char *name, u32 *offset);

/*
 * Converts Latin-1, or UTF-16 if `is_wide`, to clean UTF-8 of at most `max` bytes, for the caller
 * to free.
 */
char *java_text_decode(const u8 *bytes, size_t len, bool is_wide, size_t max);

/* java.lang.String: its Klass, and the offsets of its fields. */
struct string_fields {
	u64 klass;
	u32 value, coder;
};

/*
 * Reads the beginnings of Strings as java_text_decode gives them, for the caller to free; out[i] is
 * NULL if strings[i] is 0 or no String. Returns 0 or -ESRCH; every out[i] is then NULL.
 */
int java_strings_read(const struct vm_memory *j, const struct java_objects *o,
		      const struct string_fields *f, const u64 *strings, size_t nr, size_t max,
		      char **out);

/*
 * The elements of Sets that ConcurrentHashMap.newKeySet made, read by slots of their tables.
 *
 *	KeySetView.map -> ConcurrentHashMap.table -> [ slot, slot, .. ]
 *	                                               '-> Node{hash, key, next} -> Node -> ..
 *
 * A negative hash marks other nodes: of a bin that was moved while the table grows (nextTable has
 * it), and of a bin that is a tree (first is its list). Everything is bounded, because the process
 * may forge the table.
 */

/* Offsets of fields. */
struct set_fields {
	u32 map;                            /* ConcurrentHashMap$CollectionView */
	u32 table;                          /* ConcurrentHashMap */
	u32 node_hash, node_key, node_next; /* ConcurrentHashMap$Node */
	u32 tree_first; /* ConcurrentHashMap$TreeBin; 0: that class is not loaded */
	u32 next_table; /* ConcurrentHashMap$ForwardingNode; 0: the same */
};

struct java_table {
	u64 at; /* of the array; 0: there is none */
	u32 length;
};

/* A slot to be read, and an element that was found in it. */
struct set_slot {
	u64 table;
	u32 index, length; /* length: of the table */
	u32 owner;         /* the caller's number for the set */
};

struct set_key {
	u64 object;
	u32 owner;
};

typedef VEC(struct set_key) set_key_list;

/* Finds the tables of the sets at these addresses (0: none). Returns 0 or -ESRCH. */
int java_set_tables(const struct vm_memory *j, const struct java_objects *o,
		    const struct set_fields *f, const u64 *sets, size_t nr, struct java_table *out);

/* Some of many slots: at equal distances, from a random one on. */
struct slot_choice {
	double stride; /* how many slots each one stands for */
	double first;
	u32 nr;
};

/* Chooses at most `most` of `total` slots. */
struct slot_choice slots_choose(u64 total, u32 most);
u64 slots_chosen(const struct slot_choice *c, u32 i);

/* Keeps at most `most` keys, chosen in the same way. Returns how many each one stands for. */
double set_keys_thin(set_key_list *keys, u32 most);

/*
 * Appends the elements of these slots. Returns 0 or -ESRCH. *nr_left_out grows by the number of
 * nodes that were not followed.
 */
int java_slots_read(const struct vm_memory *j, const struct java_objects *o,
		    const struct set_fields *f, const struct set_slot *slots, size_t nr,
		    set_key_list *out, u64 *nr_left_out);
