// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Values of ThreadLocals. User space finds the offsets in the JVM's own tables
 * (user/jvm/memory/thread_local.h); here they are followed in the memory of the thread that is
 * sampled:
 *
 *	JavaThread -> Thread.threadLocals -> ThreadLocalMap.table -> [ Entry, Entry, .. ]
 *	                                                  referent <-'   '-> value -> .. -> String
 *
 * A thread's own chain stays while this program interrupts it: collectors move objects while the
 * threads stand still, but for ZGC and Shenandoah. The class of each object is therefore checked.
 * Everything may be forged: reads are bounded, and no loop follows more than a few objects.
 */
#include "context.h"

#include "hotspot_abi.h"
#include "task.h"

#define START_TICK_NS 10000000ULL /* see unwind/unwind.bpf.c */

#define DTV_ENTRY_BYTES 16 /* dtv_t */
#define PROBES          8  /* slots of the table that are looked at: it is at most 2/3 full */
#define TABLE_MAX       (1u << 20)
#define REMAPPED_BIT    12 /* of ZGC's references on x86-64, the lowest of four */

static __always_inline bool read_bytes(void *out, u32 len, u64 addr)
{
	return !bpf_probe_read_user(out, len, (void *)addr);
}

/* The address in a reference of 8 bytes. */
static __always_inline u64 address_of(const struct java_place *p, u64 reference)
{
	u64 bits = reference >> REMAPPED_BIT;

	if (!p->is_colored)
		return reference;
	return bits & 1   ? reference >> (REMAPPED_BIT + 1)
	       : bits & 2 ? reference >> (REMAPPED_BIT + 2)
	       : bits & 4 ? reference >> (REMAPPED_BIT + 3)
	       : bits & 8 ? reference >> (REMAPPED_BIT + 4)
			  : 0;
}

/* The object to which the field at `addr` refers; 0 for null and for what cannot be read. */
static __noinline u64 read_reference(const struct java_place *p, u64 addr)
{
	u64 wide = 0;
	u32 narrow = 0;

	if (p->reference_bytes != sizeof(narrow))
		return read_bytes(&wide, sizeof(wide), addr) ? address_of(p, wide) : 0;
	if (!read_bytes(&narrow, sizeof(narrow), addr) || !narrow)
		return 0;
	return p->narrow_base + ((u64)narrow << (p->narrow_shift & 7));
}

static __noinline bool is_of_class(const struct java_place *p, u64 object, u64 class)
{
	u64 word = 0;

	if (p->class_bytes == sizeof(u32))
		return read_bytes(&word, sizeof(u32), object + p->class_at) && word == class;
	return read_bytes(&word, sizeof(word), object + p->class_at) &&
	       word >> (p->class_shift & 63) == class;
}

/* The Thread that runs, a virtual one if there is one. */
static __noinline u64 find_thread(const struct java_place *p, u64 tls)
{
	u64 table, block = tls, java_thread, handle, reference;
	u16 at = p->virtual_thread != HOTSPOT_NO_FIELD ? p->virtual_thread : p->thread;

	if (p->tls_module != HOTSPOT_TLS_POINTER &&
	    (!read_bytes(&table, sizeof(table), tls + DTV_SLOT) ||
	     !read_bytes(&block, sizeof(block), table + DTV_ENTRY_BYTES * (u64)p->tls_module)))
		return 0;
	if (!read_bytes(&java_thread, sizeof(java_thread), block + p->tls_offset) || !java_thread ||
	    !read_bytes(&handle, sizeof(handle), java_thread + at))
		return 0;
	if (p->thread_is_reference)
		return address_of(p, handle);
	return read_bytes(&reference, sizeof(reference), handle) ? address_of(p, reference) : 0;
}

/* The value of the ThreadLocal with this hash code in a Thread's map; 0 if it has none. */
static __noinline u64 find_value(const struct java_place *p, u64 map_at, u32 hash)
{
	u64 map = read_reference(p, map_at);
	u64 table = map ? read_reference(p, map + p->table) : 0;
	u32 length, index = hash;

	if (!table || !read_bytes(&length, sizeof(length), table + p->array_length) ||
	    length > TABLE_MAX || length & (length - 1))
		return 0;
	for (u32 i = 0; i < PROBES; i++, index++) {
		u32 slot = index & (length - 1), own = 0;
		u64 entry = read_reference(p, table + p->array_references +
						      (u64)slot * p->reference_bytes);
		if (!entry)
			return 0;
		u64 key = read_reference(p, entry + p->referent);
		if (key && read_bytes(&own, sizeof(own), key + p->hash) && own == hash)
			return read_reference(p, entry + p->value);
	}
	return 0;
}

static __noinline int read_text(const struct java_place *p, u64 string, struct java_value *out)
{
	u8 is_wide = 0;
	u32 length = 0;

	if (!out)
		return 0;
	out->kind = JAVA_UNREADABLE;
	if (!is_of_class(p, string, p->string_class))
		return 0;
	u64 array = read_reference(p, string + p->text);
	if (p->coder && !read_bytes(&is_wide, sizeof(is_wide), string + p->coder))
		return 0;
	if (!array || !read_bytes(&length, sizeof(length), array + p->array_length))
		return 0;
	length = p->coder ? length : 2 * length;
	out->bytes = length > 0xffff ? 0xffff : length;
	if (length > JAVA_VALUE_BYTES)
		length = JAVA_VALUE_BYTES;
	length &= 63;
	if (length &&
	    (length > JAVA_VALUE_BYTES || !read_bytes(out->text, length, array + p->array_bytes)))
		return 0;
	out->kind = is_wide == 1 || !p->coder ? JAVA_UTF16 : JAVA_LATIN1;
	return 0;
}

static __noinline int read_number(u64 addr, u32 bytes, struct java_value *out)
{
	u64 number = 0;
	bool is_read = false;

	if (!out)
		return 0;
	if (bytes == 1)
		is_read = read_bytes(&number, 1, addr);
	else if (bytes == 2)
		is_read = read_bytes(&number, 2, addr);
	else if (bytes == 4)
		is_read = read_bytes(&number, 4, addr);
	else
		is_read = read_bytes(&number, 8, addr);
	__builtin_memcpy(out->text, &number, sizeof(number));
	out->bytes = bytes;
	out->kind = is_read ? JAVA_NUMBER : JAVA_UNREADABLE;
	return 0;
}

static __noinline int read_label(const struct java_place *p, u64 thread, u32 i,
				 struct java_value *out)
{
	if (!out || !p || i >= JAVA_LABELS)
		return 0;
	const struct java_label *label = &p->labels[i];
	out->kind = JAVA_NONE;
	out->bytes = 0;
	if (!label->hash)
		return 0;
	u64 object = find_value(p, thread + label->locals, label->hash);
	for (u32 step = 0; step < JAVA_STEPS && step < label->nr_steps && object; step++) {
		const struct java_step *s = &label->steps[step];
		if (!is_of_class(p, object, s->class)) {
			out->kind = JAVA_UNREADABLE;
			return 0;
		}
		if (step + 1 == label->nr_steps && label->number_bytes)
			return read_number(object + s->field, label->number_bytes, out);
		object = read_reference(p, object + s->field);
	}
	return object ? read_text(p, object, out) : 0;
}

__noinline int java_values_add(struct scratch *s)
{
	if (!s || s->sample.nr_context & SAMPLE_HAS_VALUES)
		return 0;
	u32 pid = s->sample.task.pid;
	const struct java_place *p = bpf_map_lookup_elem(&java_places, &pid);
	if (!p || p->start_ns / START_TICK_NS != s->sample.task.start_ns / START_TICK_NS)
		return 0;
	u64 at = s->sample.nr_kernel + 2 * (u64)s->sample.nr_user + s->sample.nr_context;
	keep_as_written(at); /* the verifier forgets the bound of a sum that is computed twice */
	if (at > ABI_SAMPLE_WORDS - SAMPLE_VALUES)
		return 0;
	u64 thread = find_thread(p, task_tls(bpf_get_current_task_btf()));
	if (!thread)
		return 0;
	struct java_value *values = (struct java_value *)&s->words[at];
	for (u32 i = 0; i < JAVA_LABELS; i++)
		read_label(p, thread, i, &values[i]);
	s->sample.nr_context |= SAMPLE_HAS_VALUES;
	return 0;
}
