// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Values of ThreadLocals. User space finds the offsets in the JVM's own tables
 * (user/jvm/labels/thread_local.h); here they are followed in the memory of the thread that is
 * sampled:
 *
 *	JavaThread -> Thread.threadLocals -> ThreadLocalMap.table -> [ Entry, Entry, .. ]
 *	                                                  referent <-'   '-> value -> .. -> String
 *
 * A thread's own chain stays while this program interrupts it: collectors move objects while the
 * threads stand still, but for ZGC and Shenandoah. The class of each object is therefore checked.
 * Everything may be forged: reads are bounded, and no loop follows more than a few objects.
 *
 * A read takes 60 ns whatever its size, so that each object is read at once, with its header.
 */
#include "java_value.h"

#include "hotspot_abi.h"
#include "java_reference.h"

#define DTV_ENTRY_BYTES 16 /* dtv_t */
#define PROBES          8  /* slots of the table that are looked at: it is at most 2/3 full */
#define NODES           16 /* of a bucket; HashMap makes a tree of more than 8, which stays a list */
#define BINDINGS        16 /* carriers and snapshots of ScopedValues */
#define PAIRS           16
#define SEARCHES        8 /* halvings of a sorted array */
#define TABLE_MAX       (1u << 20)
#define HEAD_BYTES      16 /* of an object or array: all that is read if more is not in memory */
#define HASH_BITS       0x7fffffff /* ConcurrentHashMap uses the sign for other nodes */

static __always_inline bool read_bytes(void *out, u32 len, u64 addr)
{
	return !bpf_probe_read_user(out, len, (void *)addr);
}

/* The address in a reference of 8 bytes. */
static __always_inline u64 address_of(const struct java_place *p, u64 reference)
{
	return p->is_colored ? java_colored_address(reference) : reference;
}

/* The address in a reference of a field, of which `raw` has 8 bytes. */
static __always_inline u64 decode(const struct java_place *p, u64 raw)
{
	u32 narrow = (u32)raw;

	if (p->reference_bytes != sizeof(narrow))
		return address_of(p, raw);
	return narrow ? p->narrow_base + ((u64)narrow << (p->narrow_shift & 7)) : 0;
}

/* The object to which the field at `addr` refers; 0 for null and for what cannot be read. */
static __always_inline u64 read_reference(const struct java_place *p, u64 addr)
{
	u64 raw = 0;

	if (p->reference_bytes != sizeof(u32))
		return read_bytes(&raw, sizeof(raw), addr) ? decode(p, raw) : 0;
	return read_bytes(&raw, sizeof(u32), addr) ? decode(p, raw) : 0;
}

/* 8 bytes of a buffer of 64, 128 or 256 bytes and one more word. */
static __always_inline u64 word_at(const u64 *buffer, u32 off, u32 bytes)
{
	off &= bytes - 1;
	keep_as_written(off); /* the verifier forgets the bound of a mask that is moved */
	return *(const u64 *)((const char *)buffer + off);
}

static __always_inline bool read_object(struct java_reading *r, u64 object)
{
	r->at = object;
	r->object_bytes = OBJECT_BYTES;
	if (read_bytes(r->object, OBJECT_BYTES, object))
		return true;
	r->object_bytes = HEAD_BYTES;
	return read_bytes(r->object, HEAD_BYTES, object);
}

/* The reference in a field of the object that was read. */
static __always_inline u64 reference_at(const struct java_place *p, const struct java_reading *r,
					u32 off)
{
	return off + sizeof(u64) <= r->object_bytes
		       ? decode(p, word_at(r->object, off, OBJECT_BYTES))
		       : read_reference(p, r->at + off);
}

/* The class of the object that was read. */
static __always_inline u64 class_at(const struct java_place *p, const struct java_reading *r)
{
	u64 word = word_at(r->object, p->class_at, HEAD_BYTES);

	return p->class_bytes == sizeof(u32) ? (u32)word : word >> (p->class_shift & 63);
}

/* Reads the head of an array, and what follows it. Returns its length; 0 if it is unreadable. */
static __always_inline u32 read_array(const struct java_place *p, struct java_reading *r, u64 array)
{
	r->array_bytes = ARRAY_BYTES;
	if (!read_bytes(r->array, ARRAY_BYTES, array)) {
		r->array_bytes = HEAD_BYTES + sizeof(u64);
		if (!read_bytes(r->array, HEAD_BYTES + sizeof(u64), array))
			return 0;
	}
	return (u32)word_at(r->array, p->array_length, 2 * HEAD_BYTES);
}

/* The object at an index of the array that was read. */
static __always_inline u64 element_at(const struct java_place *p, const struct java_reading *r,
				      u64 array, u32 index)
{
	u64 off = p->array_references + (u64)index * p->reference_bytes;

	return off + sizeof(u64) <= r->array_bytes
		       ? decode(p, word_at(r->array, (u32)off, ARRAY_BYTES))
		       : read_reference(p, array + off);
}

__noinline u64 java_thread_find(const struct java_place *p, u64 tls)
{
	u64 table, block = tls, java_thread;

	if (!p)
		return 0;
	if (p->tls_module != HOTSPOT_TLS_POINTER &&
	    (!read_bytes(&table, sizeof(table), tls + DTV_SLOT) ||
	     !read_bytes(&block, sizeof(block), table + DTV_ENTRY_BYTES * (u64)p->tls_module)))
		return 0;
	return read_bytes(&java_thread, sizeof(java_thread), block + p->tls_offset) ? java_thread
										    : 0;
}

__noinline int java_reading_begin(const struct java_place *p, struct java_reading *r,
				  u64 java_thread)
{
	u64 handle, reference;

	if (!p || !r)
		return 0;
	u16 at = p->virtual_thread != HOTSPOT_NO_FIELD ? p->virtual_thread : p->thread;
	r->thread = 0;
	r->tables[0].is_read = r->tables[1].is_read = 0;
	if (!read_bytes(&handle, sizeof(handle), java_thread + at))
		return 0;
	if (p->thread_is_reference)
		r->thread = address_of(p, handle);
	else if (read_bytes(&reference, sizeof(reference), handle))
		r->thread = address_of(p, reference);
	return r->thread != 0;
}

/* Reads the head of a thread's table. */
static __always_inline void read_table(const struct java_place *p, struct java_table *t, u64 map_at)
{
	u64 map = read_reference(p, map_at);

	t->is_read = 1;
	t->length = 0;
	t->at = map ? read_reference(p, map + p->table) : 0;
	if (!t->at)
		return;
	t->bytes = TABLE_BYTES;
	if (!read_bytes(t->head, TABLE_BYTES, t->at)) {
		t->bytes = HEAD_BYTES + sizeof(u64);
		if (!read_bytes(t->head, HEAD_BYTES + sizeof(u64), t->at))
			return;
	}
	u32 length = (u32)word_at(t->head, p->array_length, 2 * HEAD_BYTES);
	if (length <= TABLE_MAX && !(length & (length - 1)))
		t->length = length;
}

/*
 * Looks into a slot of a thread's table. Returns whether the search ends here; the value is then in
 * r->found. The bodies of loops are functions, because Linux 6.1 refuses some of clang's forms of
 * longer loops.
 */
__noinline int java_slot_look(const struct java_place *p, struct java_reading *r,
			      const struct java_table *t, u32 hash, u32 i)
{
	u32 own = 0;

	if (!p || !r || !t)
		return 1;
	u64 off = p->array_references + (u64)((hash + i) & (t->length - 1)) * p->reference_bytes;
	u64 entry = off + sizeof(u64) <= t->bytes
			    ? decode(p, word_at(t->head, (u32)off, TABLE_BYTES))
			    : read_reference(p, t->at + off);
	if (!entry || !read_object(r, entry) || class_at(p, r) != p->entry_class)
		return 1;
	u64 key = reference_at(p, r, p->referent);
	if (!key || !read_bytes(&own, sizeof(own), key + p->hash) || own != hash)
		return 0;
	r->found = reference_at(p, r, p->value);
	return 1;
}

/* The value of the ThreadLocal with this hash code in a Thread's map; 0 if it has none. */
__noinline u64 java_local_find(const struct java_place *p, struct java_reading *r, u32 hash,
			       u32 is_inheritable)
{
	if (!p || !r)
		return 0;
	struct java_table *t = &r->tables[is_inheritable & 1];
	if (!t->is_read)
		read_table(p, t, r->thread + (is_inheritable ? p->inheritable : p->locals));
	r->found = 0;
	for (u32 i = 0; i < PROBES && t->length; i++)
		if (java_slot_look(p, r, t, hash, i))
			break;
	return r->found;
}

/* The value of a ScopedValue: the innermost binding counts. */
__noinline u64 java_scoped_find(const struct java_place *p, struct java_reading *r, u32 hash)
{
	u64 snapshot, carrier = 0, found = 0;

	if (!p || !r || !p->snapshot_class)
		return 0;
	snapshot = read_reference(p, r->thread + p->bindings);
	for (u32 i = 0, own = 0; i < BINDINGS; i++, own = 0) {
		if (!carrier) {
			if (!snapshot || !read_object(r, snapshot) ||
			    class_at(p, r) != p->snapshot_class)
				return 0;
			carrier = reference_at(p, r, p->snapshot_bindings);
			snapshot = reference_at(p, r, p->snapshot_prev);
			continue;
		}
		if (!read_object(r, carrier))
			return 0;
		u64 key = reference_at(p, r, p->carrier_key);
		found = reference_at(p, r, p->carrier_value);
		if (key && read_bytes(&own, sizeof(own), key + p->scoped_hash) && own == hash)
			return found;
		carrier = reference_at(p, r, p->carrier_prev);
	}
	r->is_cut = 1;
	return 0;
}

/*
 * Compares an object with a key, as String.compareTo does. The object is a String, or its only
 * field has one, as io.opentelemetry.context.DefaultContextKey. Returns 1 for others.
 */
__noinline int java_key_compare(const struct java_place *p, struct java_reading *r,
				const struct java_key *key, u64 object)
{
	if (!p || !r || !key || !object || !read_object(r, object))
		return 1;
	if (class_at(p, r) != p->string_class) {
		object = reference_at(p, r, p->first_field);
		if (!object || !read_object(r, object) || class_at(p, r) != p->string_class)
			return 1;
	}
	u64 array = reference_at(p, r, p->text);
	u32 coder = p->coder ? (u8)word_at(r->object, p->coder, OBJECT_BYTES) : 1;
	u32 length = array && !coder ? read_array(p, r, array) : 0;
	if (!length || r->array_bytes != ARRAY_BYTES)
		return 1;
	for (u32 i = 0; i < JAVA_KEY_BYTES / 8; i++) {
		u64 word = word_at(r->array, p->array_bytes + 8 * i, ARRAY_BYTES);
		u32 rest = length > 8 * i ? length - 8 * i : 0;
		if (rest < 8)
			word &= (1ULL << (8 * rest & 63)) - 1;
		if (word != key->text[i])
			return __builtin_bswap64(word) > __builtin_bswap64(key->text[i]) ? 1 : -1;
	}
	return length == key->bytes ? 0 : length > key->bytes ? 1 : -1;
}

/* The value of a key in the HashMap that was read; 0 if it has none. */
__noinline u64 java_map_find(const struct java_place *p, struct java_reading *r,
			     const struct java_shape *s, const struct java_key *key)
{
	if (!p || !r || !s || !key)
		return 0;
	u64 table = reference_at(p, r, s->field);
	u32 length = table ? read_array(p, r, table) : 0;
	if (!length || length & (length - 1)) {
		r->is_cut |= table != 0;
		return 0;
	}
	u64 node = element_at(p, r, table, key->hash & (length - 1));
	for (u32 i = 0; i < NODES && node; i++) {
		if (!read_object(r, node)) {
			r->is_cut = 1;
			return 0;
		}
		u32 hash = (u32)word_at(r->object, s->node_hash, OBJECT_BYTES);
		u64 own = reference_at(p, r, s->node_key);
		u64 value = reference_at(p, r, s->node_value);
		node = reference_at(p, r, s->node_next);
		if (!((hash ^ key->hash) & HASH_BITS) && !java_key_compare(p, r, key, own))
			return value;
	}
	r->is_cut |= node != 0;
	return 0;
}

/* The same in two arrays, as org.apache.logging.log4j.util.SortedArrayStringMap has them. */
__noinline u64 java_sorted_find(const struct java_place *p, struct java_reading *r,
				const struct java_shape *s, const struct java_key *key)
{
	if (!p || !r || !s || !key)
		return 0;
	u64 keys = reference_at(p, r, s->field), values = reference_at(p, r, s->other);
	u32 first = 0, end = keys ? read_array(p, r, keys) : 0;
	for (u32 i = 0; i < SEARCHES && first < end; i++) {
		u32 middle = first + (end - first) / 2;
		u64 at = p->array_references + (u64)middle * p->reference_bytes;
		int is = java_key_compare(p, r, key, read_reference(p, keys + at));
		if (!is)
			return read_reference(p, values + at);
		if (is > 0)
			end = middle;
		else
			first = middle + 1;
	}
	r->is_cut |= first < end;
	return 0;
}

/* Compares the key of a pair. Returns whether it fits; the value is then in r->found. */
__noinline int java_pair_look(const struct java_place *p, struct java_reading *r,
			      struct java_label *l, u32 key, u32 i)
{
	if (!p || !r || !l || key >= JAVA_KEYS || !r->nr_pairs)
		return 0;
	u32 pair = (i + l->hint) % r->nr_pairs;
	u64 at = r->pairs + 2ull * pair * p->reference_bytes;
	if (java_key_compare(p, r, &l->keys[key], read_reference(p, at)))
		return 0;
	l->hint = (u8)pair;
	r->found = read_reference(p, at + p->reference_bytes);
	return 1;
}

/* The same in the array that was read. */
__noinline u64 java_pairs_find(const struct java_place *p, struct java_reading *r,
			       struct java_label *l, u32 key)
{
	if (!p || !r || !l)
		return 0;
	u32 length = (u32)word_at(r->object, p->array_length, OBJECT_BYTES);
	r->nr_pairs = length / 2;
	r->pairs = r->at + p->array_references + (length & 1) * (u64)p->reference_bytes;
	r->found = 0;
	for (u32 i = 0; i < PAIRS && i < r->nr_pairs; i++)
		if (java_pair_look(p, r, l, key, i))
			return r->found;
	r->is_cut |= r->nr_pairs > PAIRS;
	return 0;
}

/* Reads the text of the String that was read. */
__noinline int java_text_read(const struct java_place *p, struct java_reading *r,
			      struct java_value *out)
{
	if (!p || !r || !out)
		return 0;
	u64 array = reference_at(p, r, p->text);
	u32 coder = p->coder ? (u8)word_at(r->object, p->coder, OBJECT_BYTES) : 1;
	u32 *to = (u32 *)out->text;
	out->kind = JAVA_UNREADABLE;
	if (!array)
		return 0;
	u32 length = read_array(p, r, array);
	length = p->coder ? length : 2 * length;
	out->bytes = length > 0xffff ? 0xffff : length;
	if (r->array_bytes != ARRAY_BYTES) {
		length = length > JAVA_VALUE_BYTES ? JAVA_VALUE_BYTES : length;
		length &= 63;
		if (length && (length > JAVA_VALUE_BYTES ||
			       !read_bytes(out->text, length, array + p->array_bytes)))
			return 0;
	} else {
		for (u32 i = 0; i < JAVA_VALUE_BYTES / 4; i++)
			to[i] = (u32)word_at(r->array, p->array_bytes + 4 * i, ARRAY_BYTES);
	}
	out->kind = coder == 1 ? JAVA_UTF16 : JAVA_LATIN1;
	return 0;
}

static __always_inline void read_number(u64 addr, u32 bytes, struct java_value *out)
{
	u64 number = 0;
	bool is_read = bytes == 1   ? read_bytes(&number, 1, addr)
		       : bytes == 2 ? read_bytes(&number, 2, addr)
		       : bytes == 4 ? read_bytes(&number, 4, addr)
				    : read_bytes(&number, 8, addr);

	__builtin_memcpy(out->text, &number, sizeof(number));
	out->bytes = bytes;
	out->kind = is_read ? JAVA_NUMBER : JAVA_UNREADABLE;
}

/* The label's shape of a class at a step; JAVA_SHAPES if it has none. */
__noinline u32 java_shape_find(const struct java_label *l, u64 class, u32 step)
{
	if (!l)
		return JAVA_SHAPES;
	for (u32 i = 0; i < JAVA_SHAPES && i < l->nr_shapes; i++)
		if (l->shapes[i].class == class && l->shapes[i].step == step)
			return i;
	return JAVA_SHAPES;
}

/* The next object on the way to the value, by the object just read; 0: the way ends. */
__noinline u64 java_object_next(const struct java_place *p, struct java_reading *r,
				struct java_label *l, u32 shape)
{
	u64 object = 0, at;

	if (!p || !r || !l || shape >= JAVA_SHAPES)
		return 0;
	const struct java_shape *s = &l->shapes[shape];
	if (s->kind == SHAPE_FIELD)
		return reference_at(p, r, s->field);
	at = r->at;
	for (u32 i = 0; i < JAVA_KEYS && i < s->nr_keys && !object; i++) {
		u32 key = s->key + i;
		if (key >= JAVA_KEYS || (i && !read_object(r, at)))
			return 0;
		if (s->kind == SHAPE_MAP)
			object = java_map_find(p, r, s, &l->keys[key]);
		else if (s->kind == SHAPE_SORTED)
			object = java_sorted_find(p, r, s, &l->keys[key]);
		else
			object = java_pairs_find(p, r, l, key);
	}
	return object;
}

__noinline int java_label_read(struct java_place *p, struct java_reading *r, u32 i,
			       struct java_value *out)
{
	u64 object;

	if (!p || !r || !out || i >= JAVA_LABELS)
		return 0;
	struct java_label *l = &p->labels[i];
	out->kind = JAVA_NONE;
	out->step = 0;
	out->bytes = 0;
	r->is_cut = 0;
	if (l->source == JAVA_NO_SOURCE)
		return 0;
	if (l->source == JAVA_SCOPED)
		object = java_scoped_find(p, r, l->hash);
	else
		object = java_local_find(p, r, l->hash, l->source == JAVA_INHERITABLE);
	for (u32 n = 0; n < JAVA_STEPS && object; n++) {
		if (!read_object(r, object)) {
			out->kind = JAVA_UNREADABLE;
			return 0;
		}
		u64 class = class_at(p, r);
		u32 at = java_shape_find(l, class, out->step);
		if (at >= JAVA_SHAPES) {
			__builtin_memcpy(out->text, &class, sizeof(class));
			out->kind = JAVA_OTHER_CLASS;
			return 0;
		}
		const struct java_shape *s = &l->shapes[at];
		if (s->kind == SHAPE_NOTHING)
			return 0;
		if (s->kind == SHAPE_TEXT)
			return java_text_read(p, r, out);
		if (s->kind == SHAPE_NUMBER) {
			read_number(object + s->field, s->bytes, out);
			return 0;
		}
		object = java_object_next(p, r, l, at);
		out->step = s->next;
	}
	if (object || r->is_cut)
		out->kind = JAVA_UNREADABLE;
	return 0;
}
